import type { FastifyError } from "fastify";
import { toApiError } from "../contract/errorAnswer.ts";
import { logFailure } from "../contract/logFailure.ts";
import { errorHeaders, unauthorized } from "../contract/errors.ts";
import type { KeyOwner, KeyOwners } from "../contract/keyOwners.ts";
import type { FastAnswer, RouteRecord, WholeRequest } from "../contract/route.ts";
import { checkScope } from "../contract/scope.ts";
import type { ServerDeps } from "../contract/serverDeps.ts";
import type { FastRoute, StartedRequest } from "./fastPath.ts";

/** The routes that can be answered on the fast path, by path, with the log line and the metrics of every request. */
export function fastRoutes(
  deps: Pick<ServerDeps, "log" | "metrics" | "config" | "keyOwners">,
  routes: readonly RouteRecord[],
): Map<string, FastRoute> {
  const byPath = new Map<string, FastRoute>();
  for (const { method, path: routePath, scope: rule, fast } of routes) {
    if (fast === undefined) continue;
    // A limited key passes here when that needs no look-up; the framework has the refusals.
    const mayPass = ({ scope }: KeyOwner, id: string): boolean =>
      scope === undefined || checkScope(scope, rule, id) === "admitted";
    byPath.set(routePath.replace(/:[a-z_]+/, ":id"), (request, started, give) => {
      if (request.body.length > deps.config.maxBodyBytes) return false;
      const end = (answer: FastAnswer): void => {
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
          .then((found) => (mayPass(found, request.id) ? answered(fast, request, found) : undefined))
          .then((answer) => (answer === undefined ? give(undefined) : end(answer)), fail);
        return true;
      }
      started.noteOwner(owner.orgId);
      if (!mayPass(owner, request.id)) return false;
      const promised = answered(fast, request, owner);
      promised?.then(end, fail);
      return promised !== undefined;
    });
  }
  return byPath;
}

/** Looks the key up before the body is parsed or anything is queued for the database. @throws {ApiError} 401 */
async function lookUp(owners: KeyOwners, key: string, started: StartedRequest): Promise<KeyOwner> {
  const owner = await owners.find(key);
  if (owner === undefined) throw unauthorized();
  started.noteOwner(owner.orgId);
  return owner;
}

/** A synchronous throw becomes a rejection: nothing above would catch it. */
function answered(
  fast: (request: WholeRequest, orgId: string) => Promise<FastAnswer> | undefined,
  request: WholeRequest,
  { orgId }: KeyOwner,
): Promise<FastAnswer> | undefined {
  try {
    return fast(request, orgId);
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
}

function errorAnswer(
  deps: Pick<ServerDeps, "log">,
  error: FastifyError,
  { requestId }: StartedRequest,
): FastAnswer {
  const answer = toApiError(error);
  const { status, message } = answer;
  logFailure(deps.log, { requestId, error, answer });
  return { status, text: JSON.stringify({ error: message }), headers: errorHeaders(answer) };
}
