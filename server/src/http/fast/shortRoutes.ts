import type { FastifyError } from "fastify";
import { toApiError } from "../contract/errorAnswer.ts";
import type { ShortAnswer, WholeRequest } from "../contract/route.ts";
import type { RouteRow, ServerDeps } from "../contract/routeTable.ts";
import type { ShortRoute, StartedRequest } from "./shortWay.ts";

/** The rows that can be answered on the short way, by path, with the log line and the metrics of every request. */
export function shortRoutes(
  deps: Pick<ServerDeps, "log" | "metrics" | "config">,
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
      const promised = answered(short, request);
      promised?.then(end, (error) => end(errorAnswer(deps, error as FastifyError, started)));
      return promised !== undefined;
    });
  }
  return routes;
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
  const { status, message, retryAfterSeconds } = toApiError(error);
  if (status >= 500) deps.log.failure(requestId, status, error);
  const header =
    retryAfterSeconds === undefined ? undefined : (["retry-after", `${retryAfterSeconds}`] as const);
  return { status, text: JSON.stringify({ error: message }), header };
}
