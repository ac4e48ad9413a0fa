import { AsyncLocalStorage } from "node:async_hooks";

/**
 * For requests that this process makes of itself, without a connection whose closing would tell it: aborts when nobody
 * waits for the answer any more.
 */
export const callerGone = new AsyncLocalStorage<AbortSignal>();
