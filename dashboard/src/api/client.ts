import createClient from "openapi-fetch";
import { basePath, serviceUrl } from "./basePath.ts";
import { learnServiceTime } from "../time/serviceClock.ts";
import type { paths } from "./interface.generated.ts";
import { Problem } from "./problem.ts";
import { currentSession, loseSession } from "./session.ts";

/** Client of the public interface, typed by its OpenAPI document. Wrap each call in {@link answer}. */
export const client = createClient<paths>({ baseUrl: serviceUrl, fetch: send });

/** Returns the data of a response. @throws {Problem} when the service refused the request or could not be reached. */
export async function answer<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<T> {
  const { data, error, response } = await call;
  if (response.ok) return data as T;
  throw new Problem(response.status, messageOf(error) ?? response.statusText, response);
}

/** Sends a GET and returns the response unparsed. @throws {Problem} */
export async function readText(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await send(new Request(`${basePath}${path}`, init));
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => undefined);
  throw new Problem(response.status, messageOf(body) ?? response.statusText, response);
}

/**
 * Sends a request with the session's token. A 401 drops the session: the page then leads to sign-in, or asks to sign in over
 * unsaved input.
 */
async function send(request: Request): Promise<Response> {
  const session = currentSession();
  if (session !== undefined && !request.headers.has("authorization"))
    request.headers.set("x-session-token", session.token);
  let response: Response;
  try {
    response = await fetch(request);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    throw new Problem(0, "the service cannot be reached");
  }
  learnServiceTime(response);
  const isOurs = session !== undefined && session === currentSession();
  if (response.status === 401 && isOurs && !request.headers.has("authorization")) loseSession();
  return response;
}

function messageOf(body: unknown): string | undefined {
  const message = (body as { error?: unknown } | undefined)?.error;
  return typeof message === "string" && message !== "" ? message : undefined;
}

/** Drops the parameters that are undefined. */
export function given<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}
