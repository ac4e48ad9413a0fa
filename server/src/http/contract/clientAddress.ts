import type { FastifyRequest } from "fastify";

/** The client's address. Undefined once the client has disconnected, although the framework declares a string: Node forgets it then. */
export function clientAddress(request: FastifyRequest): string | undefined {
  return request.ip;
}
