import { serviceNowMs } from "../time/serviceClock.ts";

/** A request that the service refused, or that did not reach it. */
export class Problem extends Error {
  /** HTTP status; 0 when no response arrived. */
  readonly status: number;
  readonly requestId: string | undefined;
  /** `X-Error-Code`, which distinguishes errors of the same status. */
  readonly code: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Time of the error, in Unix milliseconds of the service's clock. */
  readonly atMs = serviceNowMs();

  constructor(status: number, message: string, response?: Response) {
    super(message);
    this.name = "Problem";
    this.status = status;
    this.requestId = response?.headers.get("x-request-id") ?? undefined;
    this.code = response?.headers.get("x-error-code") ?? undefined;
    const retryAfter = Number(response?.headers.get("retry-after") ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined;
  }
}

/** The error as a sentence for users. */
export function sentenceOf(error: unknown): string {
  if (isPartMissing(error))
    return "A part of this page could not be loaded: the service may be restarting, or was upgraded. Try again.";
  if (!(error instanceof Problem)) return "An unexpected error happened on this page. Reload it.";
  if (error.code === "password_wrong") return "The current password is wrong.";
  switch (error.status) {
    case 0:
      return "The service cannot be reached. It may be restarting, or the network is down.";
    case 401:
      return "Your session had ended. Try again.";
    case 404:
      return "There is nothing with this id in your organization.";
    case 503:
      return `The service cannot answer at the moment: ${error.message}.`;
    default:
      return `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}${error.message.endsWith(".") ? "" : "."}`;
  }
}

/** Whether a dynamic import failed; the message differs between browsers. */
function isPartMissing(error: unknown): boolean {
  return error instanceof TypeError && /imported module|module script|preload/i.test(error.message);
}

/** Whether the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  return error instanceof Problem && (error.status === 0 || error.status === 429 || error.status >= 502);
}
