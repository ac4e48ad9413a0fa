import { hash, verify } from "@node-rs/argon2";
import { ApiError } from "../http/contract/errors.ts";

/** Hashes and verifies passwords, a few at a time. */
export interface Passwords {
  /** The argon2id hash in PHC form. @throws {ApiError} 503 when too many wait. */
  hash(password: string): Promise<string>;
  /**
   * Whether `password` is the one that `stored` was made from. Undefined (there is no such account) does the same
   * work and is never true. @throws {ApiError} 503 when too many wait.
   */
  verify(password: string, stored: string | undefined): Promise<boolean>;
  /** @throws {ApiError} 503 when too many wait; for callers with something to spend before they hash. */
  refuseWhenFull(): void;
}

/** OWASP's parameters for argon2id, the algorithm that the library takes by default: 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 };

/** Nobody's password, at the same cost as a real one: a salt and an output of zeros. */
const nobodysHash = `$argon2id$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`;

const defaultLimits = { concurrency: 2, maxWaiting: 100 };

/**
 * Bounds what passwords may cost: `concurrency` hashes of 19 MiB and some 10 ms at once, off the main thread, and
 * `maxWaiting` requests behind them. More are refused, because by their turn the clients would have given up.
 */
export function createPasswords(limits: typeof defaultLimits = defaultLimits): Passwords {
  const waiting: (() => void)[] = [];
  let running = 0;

  function refuseWhenFull(): void {
    if (running < limits.concurrency || waiting.length < limits.maxWaiting) return;
    throw new ApiError(503, "too many people are signing in: try again", { retryAfterSeconds: 2 });
  }

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    refuseWhenFull();
    // A finished hash hands its place to the first that waits, so nobody overtakes.
    if (running < limits.concurrency) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  }

  return {
    hash: (password) => inTurn(() => hash(password, cost)),
    verify: async (password, stored) => {
      const isSame = await inTurn(() => verify(stored ?? nobodysHash, password));
      return isSame && stored !== undefined;
    },
    refuseWhenFull,
  };
}
