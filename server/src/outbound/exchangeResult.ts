/** The result of one outbound request. Failures are values: code in `outbound/` never throws because of a peer's behaviour. */
export type ExchangeResult = ExchangeResponse | ExchangeError;

export interface ExchangeResponse {
  kind: "response";
  status: number;
  headers: ExchangeHeaders;
  /** As received, not decompressed, cut off at the request's body limit. */
  body: Buffer;
  /** True if the body was longer than the limit; the connection was then closed. */
  truncated: boolean;
  durationMs: number;
}

/** Describes a status in words. @param location The redirect's destination in a form that may be shown. */
export function statusText(who: string, status: number, location: string | undefined): string {
  if (status < 300 || status > 399) return `${who} answered ${status}`;
  const to = location ? ` redirect to ${location}` : "";
  return `${who} answered ${status}${to}; redirects are not followed`;
}

/** The response headers that the service reads. Repeated headers are joined by `, `. */
export interface ExchangeHeaders {
  "retry-after"?: string;
  location?: string;
  "content-type"?: string;
  etag?: string;
  "cache-control"?: string;
  age?: string;
  "content-encoding"?: string;
}

/**
 * Describes the fault of a compressed body (no request asks for compression) as the rest of a sentence; undefined if there is
 * none.
 */
export function compressionText({ "content-encoding": coding }: ExchangeHeaders): string | undefined {
  if (coding === undefined || /^(?:identity)?$/i.test(coding.trim())) return undefined;
  return `is compressed (Content-Encoding: ${coding.replace(/[^ -~]/g, "?").slice(0, 50)}), although the request did not ask for compression`;
}

export interface ExchangeError {
  kind: "error";
  code: ExchangeErrorCode;
  /** A short phrase for people, such as `connection refused`. */
  message: string;
  durationMs: number;
  /** False if certainly no byte of the request reached the peer; true if some may have. */
  sent: boolean;
}

export type ExchangeErrorCode =
  | "refused_address"
  | "dns"
  | "connect_refused"
  | "connect_timeout"
  | "timeout"
  | "reset"
  | "tls"
  | "bad_response"
  /** This process lacks a resource to send, such as a file descriptor; the receiver is not the cause. */
  | "local"
  | "other";
