/** One request of a tool to the public interface. Tools have no other access to the service. */
export interface InterfaceCall {
  method: "GET" | "POST" | "PUT";
  /** The path, with ids in place of its parameters. */
  path: string;
  query?: Readonly<Record<string, string | number | undefined>>;
  headers?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Whether the request may be repeated if it is unknown whether it arrived. */
  isRepeatable: boolean;
  signal: AbortSignal;
}

/**
 * Sends a request to the interface with the credential of the tools' caller.
 * @returns the body of a successful answer. @throws {CallRefusedError} for any other answer.
 */
export type CallInterface = (call: InterfaceCall) => Promise<Buffer>;

/** A refusal of the interface; status 0 if the interface could not be reached. */
export class CallRefusedError extends Error {
  override name = "CallRefusedError";
  readonly status: number;
  readonly code: string | undefined;

  constructor(status: number, message: string, options: { code?: string | undefined; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.status = status;
    this.code = options.code;
  }
}

export function pathOf({ path, query = {} }: InterfaceCall): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

/** The headers of a call, without its credential. */
export function headersOf({ headers = {}, body }: InterfaceCall): Record<string, string> {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(given) as Record<string, string>),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
}

/** The body of a successful answer. @param code the value of `X-Error-Code`. @throws {CallRefusedError} for other answers. */
export function successful(status: number, body: Buffer, code: string | undefined): Buffer {
  if (status < 400) return body;
  throw new CallRefusedError(status, messageOf(body) ?? `the service answered ${status}`, { code });
}

function messageOf(bytes: Buffer): string | undefined {
  try {
    const { error } = JSON.parse(bytes.toString()) as { error?: unknown };
    return typeof error === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}
