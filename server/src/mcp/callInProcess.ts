import type { FastifyInstance } from "fastify";
import { clientDisconnected } from "../http/contract/clientDisconnected.ts";
import { type CallInterface, headersOf, pathOf, successful } from "./interfaceCall.ts";

/**
 * Calls this process's own interface, through all of the server but a socket: credentials, limits and refusals are
 * those of any other request.
 */
export function callInProcess(
  app: FastifyInstance,
  caller: { authorization: string; remoteAddress: string },
): CallInterface {
  return async (call) => {
    const answer = await clientDisconnected.run(call.signal, () =>
      app.inject({
        method: call.method,
        url: pathOf(call),
        headers: { ...headersOf(call), authorization: caller.authorization },
        remoteAddress: caller.remoteAddress,
        ...(call.body !== undefined && { payload: JSON.stringify(call.body) }),
      }),
    );
    const headers = new Headers(
      Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, String(value)]],
      ),
    );
    return successful(answer.statusCode, { bytes: answer.rawPayload, headers });
  };
}
