import { describe, expect, it } from "vitest";
import { classifySendError } from "./exportUsage.ts";
import { stripeLibrary } from "./processor.ts";

const { errors } = stripeLibrary();
const identifier = "postrider-0192f3a4b5c67d8e9fa0b1c2d3e4f506-202611-1";

function answer(statusCode: number | undefined, message: string): unknown {
  const raw = { message, type: "invalid_request_error" as const, statusCode };
  return statusCode === undefined ? new errors.StripeConnectionError(raw) : errors.StripeError.generate(raw);
}

describe("the outcome of sending a batch", () => {
  it.each([
    [400, `An event already exists with identifier ${identifier}.`, "duplicate"],
    // The identifier of another batch does not make this one a duplicate.
    [400, "An event already exists with identifier postrider-somebody-else.", "refused"],
    [400, `No such meter; an event already exists with identifier ${identifier.slice(0, -1)}2`, "refused"],
    [400, `An event already exists with identifier ${identifier}0.`, "refused"],
    [400, "timestamp must be within the past 35 days", "refused"],
    [401, "Invalid API Key provided", "refused"],
    [404, "No active meter found", "refused"],
    [429, "Too many requests", "refused"],
    [409, "the idempotency key is in use", "unknown"],
    [500, `An event already exists with identifier ${identifier}.`, "unknown"],
    [503, "down for maintenance", "unknown"],
    [undefined, "An error occurred with our connection to Stripe.", "unknown"],
  ])("follows from the processor's answer: %s %s means %s", (status, message, kind) => {
    expect(classifySendError(answer(status, message), identifier).kind).toBe(kind);
  });

  it("does not cover errors that are not the processor's, which are thrown again", () => {
    const own = new TypeError("undefined is not a function");
    expect(() => classifySendError(own, identifier)).toThrow(own);
  });
});
