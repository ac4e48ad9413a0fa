import { randomInt } from "node:crypto";

/** The lease tokens of one process: from `first` to `last`. */
export interface TokenRange {
  first: number;
  last: number;
}

/** Makes a process's fencing tokens. */
export interface LeaseTokens {
  range: TokenRange;
  next: () => number;
}

/** A range and a token in it fill the 53 bits of a whole number. Any two processes share a range once in 17 million. */
const ranges = 2 ** 24;
const tokensPerRange = 2 ** 29;

/**
 * Tokens are random within a range of the process's own, so that the supervisor can end the leases of a process as soon as the
 * process has ended (see `endLeasesOf`).
 */
export function createLeaseTokens(): LeaseTokens {
  const first = randomInt(ranges) * tokensPerRange;
  return {
    range: { first, last: first + tokensPerRange - 1 },
    next: () => first + randomInt(tokensPerRange),
  };
}
