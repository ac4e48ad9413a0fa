import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { newSigningSecret, parseSigningSecret, sign } from "./signature.ts";

const keyArbitrary = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => Buffer.from(bytes));
const idArbitrary = fc.stringMatching(/^[0-9a-f]{32}$/);

test("signs the published test vector of Standard Webhooks", () => {
  const key = parseSigningSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const header = sign(
    [key],
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    1_614_265_330,
    Buffer.from('{"test": 2432232314}'),
  );
  expect(header).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test("agrees with the reference library for any key, id and JSON body", () => {
  fc.assert(
    fc.property(keyArbitrary, idArbitrary, fc.json(), (key, id, body) => {
      const now = new Date();
      const seconds = Math.floor(now.getTime() / 1000);
      const reference = new Webhook(key.toString("base64")).sign(id, now, body);
      expect(sign([key], id, seconds, Buffer.from(body))).toBe(reference);
    }),
  );
});

test("the reference library accepts a rotating signature with either secret, and with no other", () => {
  fc.assert(
    fc.property(keyArbitrary, keyArbitrary, keyArbitrary, fc.json(), (current, previous, other, body) => {
      fc.pre(!other.equals(current) && !other.equals(previous));
      const seconds = Math.floor(Date.now() / 1000);
      const headers = {
        "webhook-id": "0".repeat(32),
        "webhook-timestamp": String(seconds),
        "webhook-signature": sign([current, previous], "0".repeat(32), seconds, Buffer.from(body)),
      };
      for (const key of [current, previous]) {
        expect(new Webhook(key.toString("base64")).verify(body, headers)).toEqual(JSON.parse(body));
      }
      expect(() => new Webhook(other.toString("base64")).verify(body, headers)).toThrow();
    }),
  );
});

test("signs bytes that are not valid UTF-8 unchanged", () => {
  const key = Buffer.alloc(32, 7);
  const header = sign([key], "a", 1, Buffer.from([0xff, 0x00, 0xfe]));
  expect(header).not.toBe(sign([key], "a", 1, Buffer.from("\ufffd\u0000\ufffd")));
});

test("a new secret has 32 bytes, and the reference library accepts it", () => {
  const secret = newSigningSecret(randomBytes);
  expect(secret).toMatch(/^whsec_/);
  expect(parseSigningSecret(secret)).toHaveLength(32);
  expect(() => new Webhook(secret)).not.toThrow();
  expect(newSigningSecret((size) => Buffer.alloc(size, 1))).toBe(
    `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
  );
});

test.each([
  ["no prefix", Buffer.alloc(32).toString("base64")],
  ["base64url", `whsec_${Buffer.alloc(32, 0xff).toString("base64url")}`],
  ["missing padding", `whsec_${Buffer.alloc(32).toString("base64").slice(0, -1)}`],
  ["too short", `whsec_${Buffer.alloc(23).toString("base64")}`],
  ["too long", `whsec_${Buffer.alloc(65).toString("base64")}`],
  ["empty", "whsec_"],
])("refuses a secret with %s, without repeating it", (_name, secret) => {
  expect(() => parseSigningSecret(secret)).toThrow(/^a signing secret/);
});
