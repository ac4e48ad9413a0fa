import { expect, it } from "vitest";
import { awayReason } from "./awayReason.ts";

/** As PostgreSQL's errors come. */
function databaseError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

it.each([
  "failure on connection marked as essential: 127.0.0.1:5433",
  "postmaster was shut down, exiting",
  "failed to prepare transaction 'citus_0_31167_2229_14' on host 127.0.0.1:5433",
])("the database is away when Citus lost a node, whose code is that of internal errors: %s", (message) => {
  expect(awayReason(databaseError("XX000", message))).toBe("away");
});

it("a database whose table of locks is full is not said to be out of reach", () => {
  expect(awayReason(databaseError("53200", "out of shared memory"))).toBe("too few locks");
  expect(awayReason(databaseError("53200", "out of memory"))).toBe("away");
});

it("another internal error is a fault", () => {
  expect(awayReason(databaseError("XX000", "cache lookup failed for relation 1"))).toBeUndefined();
});
