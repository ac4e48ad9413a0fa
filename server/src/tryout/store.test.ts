import { expect, test } from "vitest";
import { answerOf, isTryoutUrl, refuseTryoutUrl } from "./store.ts";

const url = `https://tryout.postrider.invalid/${"0af3".repeat(8)}`;

test("a tryout URL has a token, and optionally the status of the answer", () => {
  expect(refuseTryoutUrl(url)).toBeUndefined();
  expect(refuseTryoutUrl(`${url}?answer=503`)).toBeUndefined();
  expect(answerOf(url)).toBe(200);
  expect(answerOf(`${url}?answer=503`)).toBe(503);
});

test.each([
  "https://tryout.postrider.invalid",
  "https://tryout.postrider.invalid/",
  `${url}0`,
  `${url}?answer=600`,
  `${url}?answer=99`,
  `${url}?other=1`,
  `${url}#fragment`,
])("%s is a malformed tryout URL", (wrong) => {
  expect(isTryoutUrl(wrong)).toBe(true);
  expect(refuseTryoutUrl(wrong)).toMatch(/^must be /);
});

test.each([
  `http://tryout.postrider.invalid/${"0".repeat(32)}`,
  `https://tryout.postrider.invalid.example.com/${"0".repeat(32)}`,
  `https://tryout.postrider.invalid:8443/${"0".repeat(32)}`,
  "https://example.com/",
])("%s is no tryout URL, and is checked by the address guard", (other) => {
  expect(isTryoutUrl(other)).toBe(false);
});
