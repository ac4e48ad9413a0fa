import type pg from "pg";

const origin = Symbol("the pool that a moving pool began with");

/**
 * The first pool of a moving pool, whose sessions find every table and may change schemas; for any other pool, the pool
 * itself.
 */
export function originOf(pool: pg.Pool): pg.Pool {
  return (pool as { [origin]?: pg.Pool })[origin] ?? pool;
}

type Given = (error: Error | undefined, ...rest: unknown[]) => void;

export type MovingPool = ReturnType<typeof createMovingPool>;

/**
 * A pool that takes its connections from another pool, which can be replaced while the moving pool is in use. It begins with
 * `first`, which the caller ends.
 */
export function createMovingPool(first: pg.Pool) {
  let current = first;
  let failures = 0;
  const left = new Set<pg.Pool>();

  const connect = (callback?: Given): unknown => {
    if (callback === undefined) {
      const connecting = current.connect();
      connecting.catch(() => failures++);
      return connecting;
    }
    const given: Given = (error, ...rest) => {
      if (error !== undefined) failures++;
      callback(error, ...rest);
    };
    return (current.connect as unknown as (given: Given) => unknown).call(current, given);
  };

  function leave(pool: pg.Pool): void {
    if (pool === first) return;
    left.add(pool);
    // A pool that has ended drops its waiting requests, so it is ended only when none is waiting.
    const endUnlessAwaited = (): void => {
      if (pool.waitingCount === 0) void endOnce(pool);
    };
    pool.on("acquire", endUnlessAwaited);
    endUnlessAwaited();
  }

  async function endOnce(pool: pg.Pool): Promise<void> {
    if (!pool.ending) await pool.end();
    left.delete(pool);
  }

  return {
    /**
     * The pool to run statements on. It equals the first pool except for the source of its connections: the pool's own
     * `query` takes a connection from `this.connect`.
     */
    pool: Object.create(first, { connect: { value: connect }, [origin]: { value: first } }) as pg.Pool,
    /**
     * Takes connections from `to` from now on. Statements in progress, and requests that wait for a connection, stay with their
     * pool.
     */
    move(to: pg.Pool): void {
      const from = current;
      current = to;
      if (from !== to) leave(from);
    },
    /** Number of failed attempts to get a connection so far. */
    failures: () => failures,
    /** Ends all pools except the first, which stays open. */
    async end(): Promise<void> {
      const last = current;
      current = first;
      leave(last);
      await Promise.all([...left].map(endOnce));
    },
  };
}
