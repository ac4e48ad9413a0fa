import type { IncomingHttpHeaders } from "node:http";
import { ApiError } from "../http/contract/errors.ts";
import type { FastAnswer } from "../http/contract/route.ts";
import type { Acceptance, NewItem } from "../items/item.ts";
import { parseTraceparent } from "../telemetry/traceContext.ts";
import { messaging, type Traces } from "../telemetry/traces.ts";

interface Accepting {
  /** As it is declared, such as `/t/:target_id`. */
  routePath: string;
  headers: IncomingHttpHeaders;
  add: (item: NewItem) => Promise<Acceptance>;
  /** @throws {ApiError} for what was refused. */
  answerTo: (acceptance: Acceptance) => FastAnswer;
}

/** Accepts an item under a span, which goes on from the client's `traceparent` and from which all goes on that follows. */
export async function acceptTraced(
  traces: Traces,
  item: NewItem,
  { routePath, headers, add, answerTo }: Accepting,
): Promise<FastAnswer> {
  const span = traces.start({
    name: `POST ${routePath}`,
    kind: "server",
    parent: parseTraceparent(headers["traceparent"]),
    attributes: {
      ...messaging,
      "messaging.operation.type": "receive",
      "messaging.destination.name": item.targetId,
      "messaging.message.body.size": item.payload.length,
      "http.request.method": "POST",
      "http.route": routePath,
    },
  });
  if (span === null) return add(item).then(answerTo);
  item.traceContext = span.context;
  try {
    const acceptance = await add(item);
    const answer = answerTo(acceptance);
    span.end({
      attributes: {
        "http.response.status_code": answer.status,
        "postrider.outcome": acceptance.outcome,
        ...("id" in acceptance && { "messaging.message.id": acceptance.id }),
      },
    });
    return answer;
  } catch (error) {
    const status = error instanceof ApiError ? error.status : 503;
    span.end({
      attributes: { "http.response.status_code": status },
      error: status >= 500 ? String(status) : undefined,
    });
    throw error;
  }
}
