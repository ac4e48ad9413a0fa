import type pg from "pg";

/** The error of every statement of a crashed process. */
export class Crash extends Error {}

/**
 * The pool of a process that dies before its `statements + 1`-th statement: from then on nothing reaches the
 * database.
 */
export function createCrashingPool(pool: pg.Pool, statements: number): pg.Pool {
  let left = statements;
  function spend(): void {
    if (left === 0) throw new Crash("the process is gone");
    left--;
  }
  const query = async (...args: unknown[]): Promise<unknown> => {
    spend();
    return (pool.query as (...args: unknown[]) => Promise<unknown>)(...args);
  };
  const connect = async (): Promise<unknown> => {
    spend();
    const client = await pool.connect();
    return new Proxy(client, {
      get(target, name) {
        if (name === "query") {
          return async (...args: unknown[]) => {
            spend();
            return (target.query as (...args: unknown[]) => Promise<unknown>)(...args);
          };
        }
        // A dead process's connections are closed, which ends its transactions and locks.
        if (name === "release") return (error?: Error) => target.release(left === 0 ? true : error);
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  };
  return { query, connect } as unknown as pg.Pool;
}
