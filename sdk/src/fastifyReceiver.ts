import { defaultMaxBytes, receiveDelivery, type ReceiverOptions } from "./receiveDelivery.ts";

export type { ReceiverOptions } from "./receiveDelivery.ts";

/** The methods of a Fastify instance that the plugin uses. */
export interface FastifyScope {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(type: "*", options: { parseAs: "buffer"; bodyLimit: number }, parse: never): unknown;
  post(path: string, handle: never): unknown;
}

interface ScopedRequest {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Uint8Array | undefined;
}

interface ScopedReply {
  code(status: number): { send(body?: unknown): unknown };
}

/**
 * A Fastify plugin with the route `POST path`: `app.register(webhookRoute({ path: "/hooks", … }))`. Within the plugin's scope
 * bodies are not parsed; the parsers of the rest of the application do not change.
 */
export function webhookRoute<Payload = unknown>(
  options: ReceiverOptions<Payload> & { path: string },
): (scope: FastifyScope) => Promise<void> {
  return async (scope) => {
    scope.removeAllContentTypeParsers();
    const bodyLimit = options.maxBytes ?? defaultMaxBytes;
    scope.addContentTypeParser("*", { parseAs: "buffer", bodyLimit }, keepBytes as never);
    const receive = async (request: ScopedRequest, reply: ScopedReply): Promise<unknown> => {
      const readBody = async (): Promise<Uint8Array> => request.body ?? new Uint8Array();
      const { status, error } = await receiveDelivery(options, request.headers, readBody);
      return reply.code(status).send(error === undefined ? undefined : { error });
    };
    scope.post(options.path, receive as never);
  };
}

function keepBytes(_request: unknown, body: Uint8Array, done: (error: null, body: Uint8Array) => void): void {
  done(null, body);
}
