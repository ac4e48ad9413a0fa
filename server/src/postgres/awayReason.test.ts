import { expect, it } from "vitest";
import { awayReason } from "./awayReason.ts";

/** An error in the form of PostgreSQL's errors. */
function databaseError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

it.each([
  "failure on connection marked as essential: 127.0.0.1:5433",
  "postmaster was shut down, exiting",
  "failed to prepare transaction 'citus_0_31167_2229_14' on host 127.0.0.1:5433",
])(
  "an internal error of Citus about a lost node means that the database cannot be reached: %s",
  (message) => {
    expect(awayReason(databaseError("XX000", message))).toBe("away");
  },
);

it("a full lock table has its own reason, and does not mean that the database cannot be reached", () => {
  expect(awayReason(databaseError("53200", "out of shared memory"))).toBe("too few locks");
  expect(awayReason(databaseError("53200", "out of memory"))).toBe("away");
});

it("other internal errors do not mean that the database cannot be reached", () => {
  expect(awayReason(databaseError("XX000", "cache lookup failed for relation 1"))).toBeUndefined();
});
