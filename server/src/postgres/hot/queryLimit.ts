import type pg from "pg";

/** Time limit for statements that have no limit on the server either; used as the `query_timeout` of one query. */
export const noQueryTimeoutMs = 2 ** 31 - 1;

/** Time without an answer after which the client gives up a statement. */
export const queryTimeoutMs = 35_000;
/** The driver's error message for a statement that was not answered in time. */
export const unanswered = "Query read timeout";

/**
 * A statement with a time limit of its own for the server's answer. The driver supports the limit of a single query, although
 * its types do not declare it.
 */
export function limited(limitMs: number, text: string, values: readonly unknown[] = []): pg.QueryConfig {
  const statement = { text, values: [...values], query_timeout: limitMs };
  return statement;
}

const limits = new WeakMap<pg.Pool, number>();

/**
 * Returns a view of the pool for work that a caller waits for: a statement that the server does not answer within `limitMs`
 * fails with an error for which `isUnanswered` is true, and its connection is closed. Whether the statement is executed is
 * then unknown. All other uses of the pool keep the longer limit.
 */
export function limitQueries(pool: pg.Pool, limitMs: number): pg.Pool {
  type Given = (error: Error | undefined, client?: Limited, release?: unknown) => void;
  const connect = (callback?: Given): unknown => {
    if (callback === undefined) {
      return pool.connect().then((client) => limit(client as unknown as Limited, limitMs));
    }
    const given: Given = (error, client, release) => {
      if (client !== undefined) limit(client, limitMs);
      callback(error, client, release);
    };
    return (pool.connect as unknown as (given: Given) => unknown).call(pool, given);
  };
  // The pool's own `query` takes its connection from `this.connect`.
  const limited = Object.create(pool, { connect: { value: connect } }) as pg.Pool;
  limits.set(limited, limitMs);
  return limited;
}

/** The time limit of statements on this pool, in milliseconds. */
export function queryLimitOf(pool: pg.Pool): number {
  return limits.get(pool) ?? queryTimeoutMs;
}

interface Limited {
  limitMs: number;
}

function limit(client: Limited, limitMs: number): Limited {
  client.limitMs = limitMs;
  return client;
}
