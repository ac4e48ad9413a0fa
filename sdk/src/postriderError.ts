/** A refusal or failure of the service, or a failure of the network. */
export class PostriderError extends Error {
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** The refusal's code, if its status alone does not identify it, such as `idempotency_conflict`. */
  readonly code: string | undefined;
  /** Id of the request in the service's log. */
  readonly requestId: string | undefined;
  /** Retry-After of the service's last answer, in seconds. The client has already given up retrying. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, details: PostriderErrorDetails) {
    super(message, { cause: details.cause });
    this.name = "PostriderError";
    this.status = details.status;
    this.code = details.code;
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

interface PostriderErrorDetails {
  status: number;
  code?: string | undefined;
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
  cause?: unknown;
}
