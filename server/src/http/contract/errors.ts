/**
 * An error that the caller is meant to see: the HTTP status and the message of `{"error": message}`.
 * Thrown by features, turned into an answer by the error handler in `app.ts`.
 */
export class ApiError extends Error {
  readonly status: number;
  /** Seconds for a `Retry-After` header; set on 429 and 503. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, message: string, options: ApiErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "ApiError";
    this.status = status;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

interface ApiErrorOptions {
  cause?: unknown;
  retryAfterSeconds?: number;
}

/** 404 for an unknown id and for one of another organization alike, so that existence is not disclosed. */
export function notFound(): ApiError {
  return new ApiError(404, "not found");
}

/** 401 for no, an unknown or a revoked credential. */
export function unauthorized(): ApiError {
  return new ApiError(401, "unauthorized");
}
