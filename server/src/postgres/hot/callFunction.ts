import type pg from "pg";
import type { FunctionCall } from "./functionCall.ts";
import { callHot } from "./hotCall.ts";
import { callPlain } from "./plainCall.ts";
import { isTapped } from "./rowTap.ts";

/**
 * Calls a function of the hot path and gives its rows: ids as 32 hex characters, bigint as numbers, bytea as buffers,
 * whichever way the call goes.
 * @throws The driver's errors, as `pool.query` does.
 */
export function callFunction<R extends pg.QueryResultRow>(pool: pg.Pool, call: FunctionCall): Promise<R[]> {
  return isTapped(pool) ? callHot(pool, call) : callPlain(pool, call);
}
