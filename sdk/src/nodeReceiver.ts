import {
  BodyAlreadyReadError,
  BodyTooLargeError,
  defaultMaxBytes,
  gather,
  receiveDelivery,
  type ReceiverOptions,
} from "./receiveDelivery.ts";

export { BodyAlreadyReadError, type ReceiverOptions } from "./receiveDelivery.ts";

/** The properties of Node's `IncomingMessage` that the receiver reads, and those that frameworks add. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Whether anything has read from the stream. */
  readableDidRead?: boolean;
  body?: unknown;
  /** The unparsed body, which some hosts, and a `verify` function of `express.json`, store in addition to the parsed one. */
  rawBody?: unknown;
}

/** The methods of Node's `ServerResponse` that the receiver uses. */
export interface NodeResponse {
  writeHead(status: number, headers?: Record<string, string>): unknown;
  end(text?: string): unknown;
}

export interface NodeReceiverOptions {
  /** Called with an error of the handler if there is no `next`, as in Node's own server; by default the error is printed. */
  onError?: (error: unknown) => void;
}

/**
 * A receiver for Express, Node's own server and API routes of Next's pages: `app.post("/hooks", receiveWebhook({ … }))`.
 * It reads the body itself, or takes the bytes that `express.raw` has read or that are stored as `rawBody`. A body that was
 * parsed before is an error, because serializing it again could give other bytes than the signed ones.
 */
export function receiveWebhook<Payload = unknown>(
  options: ReceiverOptions<Payload> & NodeReceiverOptions,
): (request: NodeRequest, response: NodeResponse, next?: (error?: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      const { status, error } = await receiveDelivery(options, request.headers, () =>
        read(request, options.maxBytes),
      );
      response.writeHead(status, error === undefined ? {} : { "content-type": "application/json" });
      response.end(error === undefined ? undefined : JSON.stringify({ error }));
    } catch (error) {
      if (next === undefined) {
        // Not thrown again, because that would end the process of a plain Node server.
        response.writeHead(500);
        response.end();
        (options.onError ?? complain)(error);
      } else next(error);
    }
  };
}

async function read(request: NodeRequest, maxBytes = defaultMaxBytes) {
  const kept = [request.rawBody, request.body].find(isBytes);
  if (kept !== undefined) {
    if (kept.length > maxBytes) throw new BodyTooLargeError(`the body is larger than ${maxBytes} bytes`);
    return kept;
  }
  if (request.readableDidRead === true) throw new BodyAlreadyReadError(parsedBefore);
  return gather(request, maxBytes);
}

function complain(error: unknown): void {
  // oxlint-disable-next-line eslint/no-console -- the error would be lost otherwise
  console.error("a webhook's handler failed:", error);
}

const parsedBefore =
  "the request's body was parsed before its signature could be checked: put the receiver before express.json(), or keep " +
  "the bytes with express.json({ verify: (request, _response, bytes) => { request.rawBody = bytes } }); in API routes of " +
  "Next's pages export const config = { api: { bodyParser: false } }";

function isBytes(value: unknown): value is string | Uint8Array {
  return typeof value === "string" || value instanceof Uint8Array;
}
