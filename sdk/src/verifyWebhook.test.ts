import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { verifyWebhook, WebhookVerificationError } from "./verifyWebhook.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const timestamp = 1_614_265_330;
const body = '{"test": 2432232314}';
const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const now = { nowMs: timestamp * 1000 };

function headers(changes: Record<string, string> = {}): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signature,
    ...changes,
  };
}

function newSecret(length = 32): string {
  return `whsec_${randomBytes(length).toString("base64")}`;
}

describe("verifyWebhook", () => {
  it("accepts the specification's example", async () => {
    expect(await verifyWebhook(secret, headers(), body, now)).toEqual({
      id,
      timestamp,
      eventType: null,
      payload: { test: 2_432_232_314 },
    });
  });

  it("accepts deliveries signed by the reference library, as text and as bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.uint8Array({ minLength: 24, maxLength: 64 }), async (text, bytes) => {
        const key = `whsec_${Buffer.from(bytes).toString("base64")}`;
        const signed = headers({ "webhook-signature": new Webhook(key).sign(id, new Date(now.nowMs), text) });
        const expected = { id, timestamp, payload: JSON.parse(text) as unknown };
        expect(await verifyWebhook(key, signed, text, now)).toMatchObject(expected);
        expect(await verifyWebhook(key, signed, Buffer.from(text), now)).toMatchObject(expected);
      }),
    );
  });

  it("refuses a body in which one bit was changed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 7 }), async (place, bit) => {
        const changed = Buffer.from(body);
        const index = place % changed.length;
        changed.writeUInt8(changed.readUInt8(index) ^ (1 << bit), index);
        await expect(verifyWebhook(secret, headers(), changed, now)).rejects.toThrow(
          WebhookVerificationError,
        );
      }),
    );
  });

  it.each([
    ["another id", { "webhook-id": `${id}x` }],
    ["another timestamp", { "webhook-timestamp": String(timestamp + 1) }],
    ["half a signature", { "webhook-signature": signature.slice(0, 20) }],
    ["another version", { "webhook-signature": signature.replace("v1,", "v2,") }],
    ["no version", { "webhook-signature": signature.slice(3) }],
    ["an empty signature", { "webhook-signature": "v1," }],
    ["what is no base64", { "webhook-signature": "v1,***" }],
    ["no signature", { "webhook-signature": "" }],
    ["a timestamp that is none", { "webhook-timestamp": "yesterday" }],
    ["a timestamp with a sign", { "webhook-timestamp": `+${timestamp}` }],
  ])("refuses %s", async (_what, changes) => {
    await expect(verifyWebhook(secret, headers(changes), body, now)).rejects.toThrow(
      WebhookVerificationError,
    );
  });

  it("accepts a delivery during a rotation with either secret or both", async () => {
    const [current, previous, other] = [newSecret(), newSecret(), newSecret()];
    const both = [current, previous].map((key) => new Webhook(key).sign(id, new Date(now.nowMs), body));
    const signed = headers({ "webhook-signature": both.join(" ") });
    for (const secrets of [current, previous, [other, previous], [current, other]]) {
      expect(await verifyWebhook(secrets, signed, body, now)).toMatchObject({ id });
    }
    await expect(verifyWebhook([other], signed, body, now)).rejects.toThrow("no signature matches");
    await expect(verifyWebhook([], signed, body, now)).rejects.toThrow("no signature matches");
  });

  it("accepts no timestamp when the tolerance is not a number", async () => {
    const options = { ...now, toleranceSeconds: Number.NaN };
    await expect(verifyWebhook(secret, headers(), body, options)).rejects.toThrow("too far from now");
  });

  it("accepts timestamps up to five minutes away, or up to toleranceSeconds", async () => {
    const at = (seconds: number, toleranceSeconds?: number) =>
      verifyWebhook(secret, headers(), body, { nowMs: (timestamp + seconds) * 1000, toleranceSeconds });
    expect(await at(300)).toMatchObject({ id });
    expect(await at(-300)).toMatchObject({ id });
    await expect(at(301)).rejects.toThrow("too far");
    await expect(at(-301)).rejects.toThrow("too far");
    expect(await at(3000, 3000)).toMatchObject({ id });
    await expect(at(11, 10)).rejects.toThrow("too far");
  });

  it("reads the headers of fetch and of Node", async () => {
    expect(await verifyWebhook(secret, new Headers(headers()), body, now)).toMatchObject({ id });
    const upper = Object.fromEntries(
      Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), [value]]),
    );
    expect(await verifyWebhook(secret, upper, body, now)).toMatchObject({ id });
    await expect(verifyWebhook(secret, {}, body, now)).rejects.toThrow("webhook-id is missing");
  });

  it("throws a TypeError for a malformed secret", async () => {
    await expect(verifyWebhook("whsec_***", headers(), body, now)).rejects.toThrow(TypeError);
    await expect(verifyWebhook("", headers(), body, now)).rejects.toThrow(TypeError);
  });
});
