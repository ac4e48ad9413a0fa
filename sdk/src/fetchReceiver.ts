import {
  BodyAlreadyReadError,
  defaultMaxBytes,
  gather,
  receiveDelivery,
  type ReceiverOptions,
} from "./receiveDelivery.ts";

export { BodyAlreadyReadError, type ReceiverOptions } from "./receiveDelivery.ts";

/**
 * A receiver for frameworks whose handlers take a `Request` and return a `Response`: route handlers of Next
 * (`export const POST = receiveWebhook({ … })`), Hono, Remix, Deno, Bun, Workers.
 */
export function receiveWebhook<Payload = unknown>(
  options: ReceiverOptions<Payload>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, error } = await receiveDelivery(options, request.headers, () =>
      read(request, options.maxBytes),
    );
    return error === undefined ? new Response(null, { status }) : Response.json({ error }, { status });
  };
}

async function read(request: Request, maxBytes = defaultMaxBytes) {
  if (request.bodyUsed) {
    throw new BodyAlreadyReadError(
      "the request's body was read before its signature could be checked: hand the request over before .json() or .text()",
    );
  }
  return request.body === null ? new Uint8Array() : gather(piecesOf(request.body), maxBytes);
}

/** Iterates over a stream, for browsers in which streams have no async iterator. */
async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
