import { hash, verify } from "@node-rs/argon2";

/** OWASP's parameters for argon2id, the library's default algorithm: 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 };

/** A hash that matches no password and costs as much to verify as a real one: salt and output are zeros. */
export const unmatchableHash = `$argon2id$v=19$m=19456,t=2,p=1$${"A".repeat(22)}$${"A".repeat(43)}`;

const defaultLimits = { concurrency: 2, maxWaiting: 100 };

/** Hashes and verifies a few passwords at a time, with a bounded queue. */
export type Passwords = ReturnType<typeof createPasswords>;

/**
 * Limits the cost of passwords: at most `concurrency` hashes at once, each taking 19 MiB and about 10 ms outside the main
 * thread, and a queue of `maxWaiting` requests. More are refused, because their clients would time out in the queue.
 */
export function createPasswords(limits: typeof defaultLimits = defaultLimits) {
  const waiting: (() => void)[] = [];
  let running = 0;

  /** Whether too many passwords wait; routes check this before they count a request against its rate limit. */
  const isFull = (): boolean => running >= limits.concurrency && waiting.length >= limits.maxWaiting;

  async function inTurn<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (isFull()) return undefined;
    // A finished hash passes its slot to the first in the queue.
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
    /** Returns the argon2id hash in PHC string format; undefined, without hashing, when too many passwords wait. */
    hash: (password: string) => inTurn(() => hash(password, cost)),
    /**
     * Compares `password` with the hash `stored`. Without a stored hash (no such account) it does the same work and
     * returns `wrong`. Returns `overloaded`, without hashing, when too many passwords wait.
     */
    verify: async (
      password: string,
      stored: string | undefined,
    ): Promise<"right" | "wrong" | "overloaded"> => {
      const isSame = await inTurn(() => verify(stored ?? unmatchableHash, password));
      if (isSame === undefined) return "overloaded";
      return isSame && stored !== undefined ? "right" : "wrong";
    },
    isFull,
  };
}
