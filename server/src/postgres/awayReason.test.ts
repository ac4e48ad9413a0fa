import { expect, it } from "vitest";
import { awayReason, isOutcomeUnknown } from "./awayReason.ts";

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

it.each([
  ["Connection terminated unexpectedly", true],
  ["Client has encountered a connection error and is not queryable", true],
  ["Query read timeout", true],
  ["Connection terminated due to connection timeout", false],
  ["timeout exceeded when trying to connect", false],
  ["Client was closed and is not queryable", false],
])(
  "the driver's error %j means that the database is away; a statement may have been carried out: %s",
  (message, isUnknown) => {
    const error = new Error(message);
    expect(awayReason(error)).toBeDefined();
    expect(isOutcomeUnknown(error)).toBe(isUnknown);
  },
);

it("a server that is suspended, whose queue of connections on the socket is full, cannot be reached", () => {
  const error = databaseError("EAGAIN", "connect EAGAIN /tmp/postrider-1/.s.PGSQL.5432");
  expect([awayReason(error), isOutcomeUnknown(error)]).toEqual(["away", false]);
});

it.each(["EMFILE", "ENFILE"])(
  "%s means that the database cannot be reached: no descriptor is left for a connection to it",
  (code) => {
    expect(awayReason(databaseError(code, `connect ${code} 127.0.0.1:5432`))).toBe("away");
  },
);

it("a full lock table has its own reason, and does not mean that the database cannot be reached", () => {
  expect(awayReason(databaseError("53200", "out of shared memory"))).toBe("too few locks");
  expect(awayReason(databaseError("53200", "out of memory"))).toBe("away");
});

it("other internal errors do not mean that the database cannot be reached", () => {
  expect(awayReason(databaseError("XX000", "cache lookup failed for relation 1"))).toBeUndefined();
});
