import fc from "fast-check";
import { expect, it } from "vitest";
import { contentSource } from "./settings.ts";

it.each([
  ["https://cdn.example.com/logo.svg", "https://cdn.example.com"],
  ["https://b\u00fccher.example:8443/x", "https://xn--bcher-kva.example:8443"],
  ["http://127.0.0.1:3000", "http://127.0.0.1:3000"],
  ["http://[::1]:3000", "http://[::1]:3000"],
  ["https://my_shop.example.com", "https://my_shop.example.com"],
])("%s has the source %s", (url, source) => {
  expect(contentSource(new URL(url))).toBe(source);
});

it("no host that is valid in a URL can end a directive or add a source", () => {
  const source = fc
    .string({ unit: "grapheme-ascii", minLength: 1, maxLength: 12 })
    .map((text) => URL.parse(`https://${text}/`))
    .filter((url) => url !== null)
    .map(contentSource)
    .filter((found) => found !== undefined);
  fc.assert(
    fc.property(source, (found) => {
      expect(found).toMatch(/^https:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?$/);
    }),
    { seed: 1, numRuns: 2_000 },
  );
});

it.each(["x;sandbox", "x,y", "x'y", "a*b", "a(b)", "-a.example", "a..b"])(
  "the host %s has no source",
  (host) => {
    expect(contentSource(new URL(`https://${host}/l.png`))).toBeUndefined();
  },
);
