/** One request of the public interface, as a tool makes it: the tools have no other way to the service. */
export interface InterfaceCall {
  method: "GET" | "POST" | "PUT";
  /** With ids in their places. */
  path: string;
  query?: Readonly<Record<string, string | number | undefined>>;
  headers?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Whether it may be sent again when it is unknown whether the first one arrived. */
  isRepeatable: boolean;
  signal: AbortSignal;
}

/** A successful answer. */
export interface InterfaceAnswer {
  bytes: Buffer;
  headers: { get(name: string): string | null };
}

/** Makes requests to the interface with the credential of the tools' caller. @throws {CallRefusedError} */
export type CallInterface = (call: InterfaceCall) => Promise<InterfaceAnswer>;

/** The interface's refusal, or that it could not be reached (status 0). */
export class CallRefusedError extends Error {
  override name = "CallRefusedError";
  readonly status: number;
  readonly code: string | undefined;

  constructor(status: number, message: string, options: { code?: string | null; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.status = status;
    this.code = options.code ?? undefined;
  }
}

/** Path and query. */
export function pathOf({ path, query = {} }: InterfaceCall): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const parameters = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

/** The headers that a call has beside its credential. */
export function headersOf({ headers = {}, body }: InterfaceCall): Record<string, string> {
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(given) as Record<string, string>),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
}

/** The answer, when it is a success. @throws {CallRefusedError} */
export function successful(status: number, answer: InterfaceAnswer): InterfaceAnswer {
  if (status < 400) return answer;
  const code = answer.headers.get("x-error-code");
  throw new CallRefusedError(status, messageOf(answer.bytes) ?? `the service answered ${status}`, { code });
}

function messageOf(bytes: Buffer): string | undefined {
  try {
    const { error } = JSON.parse(bytes.toString()) as { error?: unknown };
    return typeof error === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}
