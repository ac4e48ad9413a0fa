/** Any refusal or failure of the service, or of the way to it. */
export class PostriderError extends Error {
  /** The HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The interface's name for this refusal, where one status stands for several, such as `idempotency_conflict`. */
  readonly code: string | undefined;
  /** Names the request in the service's log. */
  readonly requestId: string | undefined;
  /** How long the service asks to wait, after which the client has given up by itself. */
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
