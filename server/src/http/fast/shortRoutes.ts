import type { FastifyError } from "fastify";
import { toApiError } from "../contract/errorAnswer.ts";
import { errorHeaders, unauthorized } from "../contract/errors.ts";
import type { KeyOwners } from "../contract/keyOwners.ts";
import type { ShortAnswer, WholeRequest } from "../contract/route.ts";
import type { RouteRow, ServerDeps } from "../contract/routeTable.ts";
import type { ShortRoute, StartedRequest } from "./shortWay.ts";

/** The rows that can be answered on the short way, by path, with the log line and the metrics of every request. */
export function shortRoutes(
  deps: Pick<ServerDeps, "log" | "metrics" | "config" | "keyOwners">,
  rows: readonly RouteRow[],
): Map<string, ShortRoute> {
  const routes = new Map<string, ShortRoute>();
  for (const [method, routePath, credential, { short }] of rows) {
    if (short === undefined) continue;
    if (credential !== "item") throw new Error(`${routePath} leaves its credential to the framework`);
    routes.set(routePath.replace(/:[a-z_]+/, ":id"), (request, started, give) => {
      if (request.body.length > deps.config.maxBodyBytes) return false;
      const end = (answer: ShortAnswer): void => {
        const durationMs = performance.now() - started.startedAtMs;
        deps.metrics.observe(method, routePath, answer.status, durationMs);
        const line = { id: started.requestId, method, routePath, caller: null };
        deps.log.request(line, answer.status, durationMs);
        give(answer);
      };
      const fail = (error: unknown): void => end(errorAnswer(deps, error as FastifyError, started));
      const owner = deps.keyOwners.known(request.key);
      if (owner === undefined) {
        lookUp(deps.keyOwners, request.key, started)
          .then(() => answered(short, request))
          .then((answer) => (answer === undefined ? give(undefined) : end(answer)), fail);
        return true;
      }
      started.noteOwner(owner);
      const promised = answered(short, request);
      promised?.then(end, fail);
      return promised !== undefined;
    });
  }
  return routes;
}

/** Nobody unknown makes the service parse anything, or send it to the database. @throws {ApiError} 401 */
async function lookUp(owners: KeyOwners, key: string, started: StartedRequest): Promise<void> {
  const owner = await owners.find(key);
  if (owner === undefined) throw unauthorized();
  started.noteOwner(owner);
}

/** What a route throws at once is an answer as well: above it is only the connection. */
function answered(
  short: (request: WholeRequest) => Promise<ShortAnswer> | undefined,
  request: WholeRequest,
): Promise<ShortAnswer> | undefined {
  try {
    return short(request);
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
}

function errorAnswer(
  deps: Pick<ServerDeps, "log">,
  error: FastifyError,
  { requestId }: StartedRequest,
): ShortAnswer {
  const answer = toApiError(error);
  const { status, message } = answer;
  if (status >= 500) deps.log.failure(requestId, status, error);
  return { status, text: JSON.stringify({ error: message }), headers: errorHeaders(answer) };
}
