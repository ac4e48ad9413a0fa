import type { IncomingHttpHeaders } from "node:http";
import { ApiError } from "../http/contract/errors.ts";
import type { FastAnswer } from "../http/contract/route.ts";
import type { NewContent } from "../items/item.ts";
import { parseTraceparent } from "../telemetry/traceContext.ts";
import { messaging, type Traces } from "../telemetry/traces.ts";

interface Accepting<T> {
  /** The declared path, such as `/t/:target_id`. */
  routePath: string;
  /** The target; undefined for a publication. */
  targetId?: string;
  headers: IncomingHttpHeaders;
  accept: () => Promise<T>;
  /** @throws {ApiError} for a refusal. */
  answerTo: (accepted: T) => FastAnswer;
}

/**
 * Accepts an item or a publication under a span whose parent is the client's `traceparent`. This span is the parent of all later
 * spans of the item or publication.
 */
export async function acceptTraced<T extends { outcome: string }>(
  traces: Traces,
  content: NewContent,
  { routePath, targetId, headers, accept, answerTo }: Accepting<T>,
): Promise<FastAnswer> {
  const span = traces.start({
    name: `POST ${routePath}`,
    kind: "server",
    parent: parseTraceparent(headers["traceparent"]),
    attributes: {
      ...messaging,
      "messaging.operation.type": "receive",
      ...(targetId !== undefined && { "messaging.destination.name": targetId }),
      "messaging.message.body.size": content.payload.length,
      "http.request.method": "POST",
      "http.route": routePath,
    },
  });
  if (span === null) return accept().then(answerTo);
  content.traceContext = span.context;
  try {
    const accepted = await accept();
    const answer = answerTo(accepted);
    span.end({
      attributes: {
        "http.response.status_code": answer.status,
        "postrider.outcome": accepted.outcome,
        ...("id" in accepted && { "messaging.message.id": String(accepted.id) }),
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
