/**
 * The result of one outbound request. Failures are values: nothing in `outbound/` throws for what a peer does.
 */
export type ExchangeResult = ExchangeResponse | ExchangeError;

export interface ExchangeResponse {
  kind: "response";
  status: number;
  headers: ExchangeHeaders;
  /** As received, not decompressed, cut at the request's body limit. */
  body: Buffer;
  /** True when the peer had more to say than the limit; the connection was then closed. */
  truncated: boolean;
  durationMs: number;
}

/** A status in words. @param location where a redirect leads, as it may be shown. */
export function statusText(who: string, status: number, location: string | undefined): string {
  if (status < 300 || status > 399) return `${who} answered ${status}`;
  const to = location ? ` redirect to ${location}` : "";
  return `${who} answered ${status}${to}; redirects are not followed`;
}

/** The response headers somebody in the service reads; a repeated header is joined by `, `. */
export interface ExchangeHeaders {
  "retry-after"?: string;
  location?: string;
  "content-type"?: string;
  etag?: string;
  "cache-control"?: string;
  age?: string;
  "content-encoding"?: string;
}

/** The fault of a body that is compressed, although no request asks for it, so as to follow its subject; undefined without. */
export function compressionText({ "content-encoding": coding }: ExchangeHeaders): string | undefined {
  if (coding === undefined || /^(?:identity)?$/i.test(coding.trim())) return undefined;
  return `is compressed (Content-Encoding: ${coding.replace(/[^ -~]/g, "?").slice(0, 50)}), which was not asked for`;
}

export interface ExchangeError {
  kind: "error";
  code: ExchangeErrorCode;
  /** One plain phrase for a person, such as `connection refused`. */
  message: string;
  durationMs: number;
  /** False when certainly nothing of the request reached the peer; true when some of it may have. */
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
  /** This process lacks what it needs to send, such as a file descriptor: the receiver has nothing to do with it. */
  | "local"
  | "other";
