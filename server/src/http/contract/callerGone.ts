import { AsyncLocalStorage } from "node:async_hooks";
import type { FastifyReply } from "fastify";

/**
 * For requests that this process makes of itself, without a connection whose closing would tell it: aborts when nobody
 * waits for the answer any more.
 */
export const callerGone = new AsyncLocalStorage<AbortSignal>();

/** Aborts when the connection closes before the answer has left, or this process itself asked and waits no more. */
export function goneSignal(reply: FastifyReply): AbortSignal {
  const ownCall = callerGone.getStore();
  if (ownCall !== undefined) return ownCall;
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableEnded) controller.abort();
  });
  return controller.signal;
}
