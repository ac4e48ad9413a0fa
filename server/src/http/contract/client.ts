import { AsyncLocalStorage } from "node:async_hooks";
import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * The abort signal of a request that this process makes to itself. Such a request has no connection that could close; the signal
 * aborts when its caller no longer waits for the answer.
 */
export const clientDisconnected = new AsyncLocalStorage<AbortSignal>();

/** A signal that aborts when the client disconnects before the answer was sent. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const ownCall = clientDisconnected.getStore();
  if (ownCall !== undefined) return ownCall;
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableEnded) controller.abort();
  });
  // It may have closed while the credential was checked.
  if (reply.raw.destroyed) controller.abort();
  return controller.signal;
}

/** The client's address; undefined after the client has disconnected, although the framework declares a string. */
export function clientAddress(request: FastifyRequest): string | undefined {
  return request.ip;
}
