import type pg from "pg";

const origin = Symbol("the pool that a moving pool began with");

/** The first pool of a moving pool, whose sessions see every table and may change schemas; any other pool itself. */
export function originOf(pool: pg.Pool): pg.Pool {
  return (pool as { [origin]?: pg.Pool })[origin] ?? pool;
}

type Given = (error: Error | undefined, ...rest: unknown[]) => void;

export type MovingPool = ReturnType<typeof createMovingPool>;

/**
 * A pool that takes its connections from another pool, which can be exchanged while the first is in use. It begins with the connections
 * of `first`, which the caller ends.
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
    // A pool that has ended forgets who waits, so it ends when the last of them has a connection.
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
     * The pool to run statements on. It is the first pool in everything except where its connections come from: the pool's own `query`
     * takes its connection from `this.connect`.
     */
    pool: Object.create(first, { connect: { value: connect }, [origin]: { value: first } }) as pg.Pool,
    /** Connections come from `to` from now on. Statements under way, and requests that wait for a connection, finish where they are. */
    move(to: pg.Pool): void {
      const from = current;
      current = to;
      if (from !== to) leave(from);
    },
    /** How many attempts to get a connection have failed so far. */
    failures: () => failures,
    /** Ends the pools that it was moved to. The first pool stays open. */
    async end(): Promise<void> {
      const last = current;
      current = first;
      leave(last);
      await Promise.all([...left].map(endOnce));
    },
  };
}
