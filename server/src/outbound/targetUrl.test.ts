import { expect, test, vi } from "vitest";
import { parseNetworks, refusedAddress } from "./addressGuard.ts";
import { checkTargetUrl, type TargetUrlPolicy } from "./targetUrl.ts";

const publicName = (): Promise<string[]> => Promise.resolve(["93.184.215.14", "2606:2800:21f::1"]);
const strict: TargetUrlPolicy = {
  config: { allowHttpTargets: false },
  networks: parseNetworks(""),
  resolve: publicName,
};
const local: TargetUrlPolicy = {
  ...strict,
  config: { allowHttpTargets: true },
  networks: parseNetworks("127.0.0.0/8"),
};

test.each([
  "https://example.com",
  "https://example.com/hooks?token=a%20b",
  "https://example.com:8443/x",
  "https://example.com./x",
  "https://münchen.example/x",
  "https://under_score.example/x",
  "HTTPS://EXAMPLE.COM/",
  "https://1.1.1.1/",
  "https://[2606:4700:4700::1111]:443/",
])("%s is accepted", async (text) => {
  expect(await checkTargetUrl(text, strict)).toMatchObject({ ok: true, url: new URL(text) });
});

test.each([
  ["", /absolute URL/],
  ["example.com/hooks", /absolute URL/],
  ["/hooks", /absolute URL/],
  ["//example.com/hooks", /absolute URL/],
  ["https:example.com", /absolute URL/],
  ["https:///example.com", /absolute URL/],
  ["https:\\\\example.com", /absolute URL/],
  ["https://example.com\\@10.0.0.1/", /absolute URL/],
  ["https://exa\nmple.com/", /absolute URL/],
  [" https://example.com/", /absolute URL/],
  ["https://example.com/\u0000", /absolute URL/],
  ["https://[::1", /absolute URL/],
  ["https://[fe80::1%25eth0]/", /absolute URL/],
  ["https://1.2.3.4.5/", /absolute URL/],
  ["https://example.com:99999/", /absolute URL/],
  [`https://example.com/${"a".repeat(2048)}`, /longer than 2048/],
  ["http://example.com/", /must use https: http needs POSTRIDER_ALLOW_HTTP_TARGETS=true$/],
  ["ftp://example.com/", /must use https$/],
  ["javascript://example.com/", /must use https$/],
  ["https://user@example.com/", /user name or password/],
  ["https://user:secret@example.com/", /user name or password/],
  ["https://example.com/#part", /fragment/],
  ["https://example.com/#", /fragment/],
  ["https://example.com:0/", /port 0/],
  ["https://a..example/", /host name/],
  [`https://${"a".repeat(64)}.example/`, /host name/],
])("%j is refused", async (text, reason) => {
  expect(await checkTargetUrl(text, strict)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
});

test.each([
  "https://127.0.0.1/",
  "https://127.1/",
  "https://127.0.0.1./",
  "https://2130706433/",
  "https://0x7f000001/",
  "https://0x7f.0.0.1/",
  "https://0177.0.0.1/",
  "https://017700000001/",
  "https://１２７.0.0.1/",
  "https://[::1]/",
  "https://[0:0:0:0:0:0:0:1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[::ffff:7f00:1]/",
  "https://[64:ff9b::7f00:1]/",
  "https://localhost/",
  "https://LOCALHOST./",
  "https://ⓛocalhost/",
  "https://a.b.localhost/",
  "https://169.254.169.254/latest/meta-data/",
  "https://[fd00:ec2::254]/",
  "https://0/",
  "https://10.0.0.1/",
])("%s is refused in any spelling of its address", async (text) => {
  expect(await checkTargetUrl(text, strict)).toEqual({
    ok: false,
    reason: `${refusedAddress}: POSTRIDER_ALLOWED_NETWORKS can allow networks`,
  });
});

test("a name with one refused address among public ones is refused with the same message as a refused address", async () => {
  const resolve = () => Promise.resolve(["93.184.215.14", "10.9.8.7"]);
  expect(await checkTargetUrl("https://rebind.example/", { ...strict, resolve })).toEqual({
    ok: false,
    reason: `${refusedAddress}: POSTRIDER_ALLOWED_NETWORKS can allow networks`,
  });
});

test("a name that does not resolve is accepted, because its receiver may be set up later", async () => {
  const resolve = () => Promise.reject(new Error("ENOTFOUND"));
  expect(await checkTargetUrl("https://later.example/", { ...strict, resolve })).toMatchObject({ ok: true });
});

test("a name server that never answers does not block the caller", async () => {
  const resolve = () => new Promise<string[]>(() => undefined);
  vi.useFakeTimers();
  try {
    const check = checkTargetUrl("https://slow.example/", { ...strict, resolve });
    await vi.advanceTimersByTimeAsync(3000);
    expect(await check).toMatchObject({ ok: true });
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  "http://127.0.0.1:3000/",
  "http://localhost:3000/",
  "http://example.com/",
  "https://example.com/",
])("%s is accepted where http and loopback are allowed", async (text) => {
  expect(await checkTargetUrl(text, local)).toMatchObject({ ok: true });
});

test("allowing http does not allow other schemes or other networks", async () => {
  expect(await checkTargetUrl("ftp://127.0.0.1/", local)).toMatchObject({ reason: "must use https or http" });
  expect(await checkTargetUrl("http://10.0.0.1/", local)).toMatchObject({
    reason: `${refusedAddress}: POSTRIDER_ALLOWED_NETWORKS can allow networks`,
  });
});
