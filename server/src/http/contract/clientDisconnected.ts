import { AsyncLocalStorage } from "node:async_hooks";
import type { FastifyReply } from "fastify";

/**
 * The signal of a request that this process makes to itself, which has no connection that could close: it aborts when nobody
 * waits for the answer any more.
 */
export const clientDisconnected = new AsyncLocalStorage<AbortSignal>();

/** A signal that aborts when the client disconnects before the answer has left. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const ownCall = clientDisconnected.getStore();
  if (ownCall !== undefined) return ownCall;
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableEnded) controller.abort();
  });
  return controller.signal;
}
