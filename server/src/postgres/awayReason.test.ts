import { expect, it } from "vitest";
import { awayReason } from "./awayReason.ts";

/** As PostgreSQL's errors come. */
function databaseError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

it("a worker that Citus lost makes the database be away, although its code is that of internal errors", () => {
  const lost = "failure on connection marked as essential: 127.0.0.1:5433";
  expect(awayReason(databaseError("XX000", lost))).toBe("away");
  expect(awayReason(databaseError("XX000", "cache lookup failed for relation 1"))).toBeUndefined();
});
