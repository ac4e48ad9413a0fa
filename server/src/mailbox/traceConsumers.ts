import type { IncomingHttpHeaders } from "node:http";
import type pg from "pg";
import { hashCredential } from "../http/contract/credentials.ts";
import { parseTraceparent, type TraceContext } from "../telemetry/traceContext.ts";
import { messaging, type Traces } from "../telemetry/traces.ts";
import type { ClaimedMessage } from "./message/message.ts";

/** A consumer's request, for the spans of its messages. */
export interface Consumer {
  key: string;
  headers: IncomingHttpHeaders;
  /** When the request arrived, in Unix milliseconds. */
  startMs: number;
}

export type ConsumerTraces = ReturnType<typeof createConsumerTraces>;

/** The most concurrent lookups of trace contexts. Acknowledgements beyond them get no span. */
const maxLookups = 4;

/** Adds a span for each consumer's call to the trace of the message, with a link to the consumer's own trace. Never throws. */
export function createConsumerTraces(pool: pg.Pool, traces: Traces) {
  let lookups = 0;
  return {
    claimed(consumer: Consumer, messages: readonly ClaimedMessage[]): void {
      for (const { id, traceContext } of messages) {
        if (traceContext !== null) note(traces, consumer, { name: "claim", id, parent: traceContext });
      }
    },
    /** Returns at once. */
    ended(consumer: Consumer, verb: "acknowledge" | "reject", messageIds: readonly string[]): void {
      if (messageIds.length === 0 || lookups === maxLookups) return;
      lookups++;
      const endMs = Date.now();
      void findContexts(pool, consumer.key, messageIds)
        .then(
          (found) => {
            for (const { id, context } of found)
              note(traces, consumer, { name: verb, id, parent: context, endMs });
          },
          // If the lookup fails, the messages get no span.
          () => undefined,
        )
        .finally(() => lookups--);
    },
  };
}

interface Noted {
  name: "claim" | "acknowledge" | "reject";
  id: string;
  parent: TraceContext;
  endMs?: number;
}

const operations = { claim: "receive", acknowledge: "settle", reject: "settle" } as const;

function note(traces: Traces, { headers, startMs }: Consumer, { name, id, parent, endMs }: Noted): void {
  const own = parseTraceparent(headers["traceparent"]);
  const span = traces.start({
    name,
    kind: "consumer",
    parent,
    links: own === null ? [] : [own],
    attributes: {
      ...messaging,
      "messaging.operation.type": operations[name],
      "messaging.operation.name": name,
      "messaging.message.id": id,
    },
    startMs,
  });
  span?.end({ attributes: {}, ...(endMs !== undefined && { atMs: endMs }) });
}

async function findContexts(
  pool: pg.Pool,
  key: string,
  ids: readonly string[],
): Promise<{ id: string; context: TraceContext }[]> {
  const { rows } = await pool.query<{ id: string; context: TraceContext }>({
    name: "find_trace_contexts",
    text: `select e.id, e.trace_context as context
           from api_keys k
           join events e on e.org_id = k.org_id
           where k.key_hash = $1
             and e.id = any ($2::uuid[])
             and e.trace_context is not null`,
    values: [hashCredential(key), ids],
  });
  return rows;
}
