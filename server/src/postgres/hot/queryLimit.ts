import type pg from "pg";

/** For statements that have no limit on the server either, as `query_timeout` of one query. */
export const noQueryTimeoutMs = 2 ** 31 - 1;

/** The silence after which a server is given up from this side. */
export const queryTimeoutMs = 35_000;
/** The driver's words for a statement that is not answered in time. */
export const unanswered = "Query read timeout";

/** A statement with its own limit for the server's answer. The driver knows the limit of a single query; its types do not. */
export function limited(limitMs: number, text: string, values: readonly unknown[] = []): pg.QueryConfig {
  const statement = { text, values: [...values], query_timeout: limitMs };
  return statement;
}

const limits = new WeakMap<pg.Pool, number>();

/**
 * The same pool for work that a caller waits for: a statement that the server does not answer within `limitMs` fails
 * with an error that `isUnanswered` knows, and its connection is closed. Whether the statement is carried out is
 * then unknown. Every other use of the pool keeps the longer limit.
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

/** How long a statement on this pool may go unanswered, in milliseconds. */
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
