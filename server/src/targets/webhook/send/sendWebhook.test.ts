import fc from "fast-check";
import { expect, test } from "vitest";
import type { ExchangeErrorCode, ExchangeHeaders, ExchangeResult } from "../../../outbound/exchangeResult.ts";
import { classify } from "./sendWebhook.ts";

function answer(status: number, headers: ExchangeHeaders = {}): ExchangeResult {
  return {
    kind: "response",
    status,
    headers,
    body: Buffer.alloc(0),
    truncated: false,
    durationMs: 1,
  };
}

function failure(code: ExchangeErrorCode): ExchangeResult {
  return { kind: "error", code, message: "connection refused", durationMs: 1, sent: false };
}

test("only 2xx counts as delivered, and only 410 ends a delivery at once", () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 999 }), (status) => {
      const expected = status >= 200 && status <= 299 ? "delivered" : status === 410 ? "gone" : "retry";
      expect(classify(answer(status)).kind).toBe(expected);
    }),
  );
});

test("the error of a failing answer is a readable sentence", () => {
  expect(classify(answer(500))).toMatchObject({ error: "receiver answered 500" });
  expect(classify(answer(404))).toMatchObject({ error: "receiver answered 404" });
  expect(classify(answer(410))).toMatchObject({ error: expect.stringContaining("410") });
});

test("the error of a redirect has its location and says that it was not followed", () => {
  expect(classify(answer(301, { location: "https://example.com/new" }))).toMatchObject({
    kind: "retry",
    error: "receiver answered 301 redirect to https://example.com/new; redirects are not followed",
  });
  expect(classify(answer(304))).toMatchObject({
    error: "receiver answered 304; redirects are not followed",
  });
});

test("a redirect's location is cut, and its control characters are replaced", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 2000 }), (location) => {
      const outcome = classify(answer(302, { location }));
      expect(outcome).toMatchObject({ error: expect.stringMatching(/^[\u0020-\u007e…]{1,300}$/) });
    }),
  );
});

test.each([408, 425, 429])("the status %d does not count toward disabling the target", (status) => {
  expect(classify(answer(status))).toMatchObject({
    kind: "retry",
    countsTowardDisabling: false,
  });
});

test.each([400, 401, 403, 404, 422, 301, 500, 503])(
  "the status %d counts toward disabling the target",
  (status) => {
    expect(classify(answer(status))).toMatchObject({ kind: "retry", countsTowardDisabling: true });
  },
);

test.each([429, 502, 503, 504])("the status %d slows down sending", (status) => {
  expect(classify(answer(status))).toMatchObject({ slowDown: true });
});

test.each([400, 404, 500, 301])("the status %d does not slow down sending", (status) => {
  expect(classify(answer(status))).toMatchObject({ slowDown: false });
});

test("a network error leads to a retry, and its message is kept", () => {
  expect(classify(failure("connect_refused"))).toEqual({
    kind: "retry",
    error: "connection refused",
    countsTowardDisabling: true,
    slowDown: false,
  });
  expect(classify(failure("timeout"))).toMatchObject({ slowDown: true });
  expect(classify(failure("other"))).toMatchObject({ countsTowardDisabling: false });
});
