import type { IncomingHttpHeaders } from "node:http";
import type { Static, TSchema } from "typebox";
import type { Config } from "../config/config.ts";
import { requiredKey } from "../http/contract/credentials.ts";
import { parseIf } from "../http/contract/json.ts";
import { type FastAnswer, type RouteCall, sendAnswer, type WholeRequest } from "../http/contract/route.ts";
import type { Parts } from "../items/parts.ts";
import type { Mailboxes } from "./mailboxes.ts";
import type { ReadDeps } from "./message/findMailbox.ts";
import type { Consumer, ConsumerTraces } from "./traceConsumers.ts";

export interface MailboxRouteDeps extends Pick<Parts, "pool" | "reads" | "nowMs" | "onMailboxItems"> {
  mailboxes: Mailboxes;
  consumerTraces?: ConsumerTraces | undefined;
  config: Pick<Config, "mailboxLeaseSeconds" | "mailboxRetentionMs">;
}

/** Why claims are not in the audit log. */
export const claimAudit = { none: "the message itself records its claims" };

/** The consumer that sent a request, for the traces of its messages. */
export function consumerOf(
  { nowMs, consumerTraces }: MailboxRouteDeps,
  key: string,
  { headers }: { headers: IncomingHttpHeaders },
): Consumer {
  return { key, headers, startMs: consumerTraces === undefined ? 0 : nowMs() };
}

/**
 * The body's schema and both handlers of a consumer's route: through the framework and on the fast path.
 * @param answer is called with the id in the path, as presented, and the body.
 */
export function forConsumers<Body extends TSchema>(
  Body: Body,
  answer: (deps: MailboxRouteDeps, consumer: Consumer, id: string, body: Static<Body>) => Promise<FastAnswer>,
) {
  return {
    body: Body,
    async handle(
      { request, reply, params, body }: RouteCall<Record<string, string>, unknown, Static<Body>>,
      deps: MailboxRouteDeps,
    ) {
      const [id] = Object.values(params);
      const consumer = consumerOf(deps, requiredKey(request), request);
      return sendAnswer(reply, await answer(deps, consumer, id!, body));
    },
    fast(whole: WholeRequest, deps: MailboxRouteDeps) {
      const presented = parseIf(Body, whole.body);
      return presented && answer(deps, consumerOf(deps, whole.key, whole), whole.id, presented.value);
    },
  };
}

export function readDeps({ pool, config }: MailboxRouteDeps): ReadDeps {
  return { pool, retentionMs: config.mailboxRetentionMs };
}
