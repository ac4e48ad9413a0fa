import { acceptedStatus } from "../postgres/kinds.ts";
import { Type } from "typebox";
import type { IncomingHttpHeaders } from "node:http";
import type pg from "pg";
import { mailboxRetentionMs } from "../config/config.ts";
import type { ReplayDeps } from "../events/replayEvent.ts";
import { requiredKey } from "../http/contract/credentials.ts";
import { notFound } from "../http/contract/errors.ts";
import {
  type FastAnswer,
  type RouteDefinition,
  route,
  type Routes,
  sendAnswer,
} from "../http/contract/route.ts";
import { customerOf } from "../http/contract/scope.ts";
import { IdParams } from "../http/contract/schemas.ts";
import { readItem } from "../intake/readItem.ts";
import { billingRefusals, ItemHeaders } from "../intake/routes.ts";
import { isId } from "../postgres/ids.ts";
import { isPathUid } from "../targets/uid.ts";
import { acceptTraced } from "../intake/traceAcceptance.ts";
import type { Traces } from "../telemetry/traces.ts";
import type { Intake } from "../intake/intake.ts";
import type { NewPublication, Published } from "../intake/publishItems.ts";
import { listPublications, readPublication } from "./readPublication.ts";
import { publicationRefusal } from "../intake/refusals.ts";
import { publishToAdded, replayToFailed } from "./replayPublication.ts";
import {
  AcceptedPublication,
  Publication,
  PublicationQuery,
  PublicationReplay,
  PublicationReplayInput,
  PublicationSummary,
} from "./schemas.ts";

export interface PublicationDeps extends ReplayDeps {
  pool: pg.Pool;
  intake: Intake;
  traces?: Traces | undefined;
}

/** `POST /p/:customer` and `POST /p`: one call, an item for every target. */
export function publishRoutes(deps: PublicationDeps): Routes<"toCustomer" | "toOwn"> {
  return {
    toCustomer: publishRoute(deps, "Publishes to all targets of a customer", {
      params: Type.Object({ customer: Type.String() }),
    }),
    toOwn: publishRoute(deps, "Publishes to all targets that belong to no customer", {}),
  };
}

function publishRoute(
  deps: PublicationDeps,
  summary: string,
  path: { params?: ReturnType<typeof Type.Object> },
): RouteDefinition {
  return route(
    {
      ...path,
      summary,
      description:
        "Makes an item for every webhook, agent and mailbox whose event_types match, in one transaction, or none at all; 202 leaves once they are durable. Webhooks and agents that are disabled hold theirs; a mailbox that is disabled is passed over. The body is any JSON document, kept byte for byte and stored once. Each item is billed.",
      headers: ItemHeaders,
      response: { 202: AcceptedPublication },
      errors: {
        ...billingRefusals,
        409: "The Idempotency-Key was used with another body, or too many targets would be reached",
      },
    },
    async ({ request, reply, params }) => {
      const key = requiredKey(request);
      const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
      const { customer } = params as { customer?: string };
      return sendAnswer(reply, await publish(deps, { headers: request.headers, body, customer, key }));
    },
    {
      rawBody: true,
      fast({ headers, body, id, key }) {
        return publish(deps, { headers, body, customer: id === "" ? undefined : id, key });
      },
    },
  );
}

interface PresentedPublication {
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** As the path names it; undefined for all targets of the organization. */
  customer: string | undefined;
  key: string;
}

/** @throws {ApiError} 400 that names the field or header; rejects with what was refused. */
function publish(
  deps: PublicationDeps,
  { headers, body, customer, key }: PresentedPublication,
): Promise<FastAnswer> {
  const { eventType, correlationId, orderingKey, idempotencyKey } = readItem(headers, body);
  const publication: NewPublication = {
    key,
    // A name that no customer can have still goes through authorization, so that a wrong key is refused first.
    customerUid: customer === undefined || isPathUid(customer) ? (customer ?? null) : unknownCustomer,
    payload: body,
    eventType,
    correlationId,
    orderingKey,
    idempotencyKey,
    traceContext: null,
  };
  const { intake, traces } = deps;
  const answer = (published: Published): FastAnswer => answerTo(published, customer);
  if (traces === undefined) return intake.publish(publication).then(answer);
  return acceptTraced(traces, publication, {
    routePath: customer === undefined ? "/p" : "/p/:customer",
    headers,
    accept: () => intake.publish(publication),
    answerTo: answer,
  });
}

/** @throws {ApiError} for what was refused. */
function answerTo(published: Published, customer: string | undefined): FastAnswer {
  if (!("id" in published)) throw publicationRefusal(published, customer);
  let items = "";
  for (const { id, targetId, kind } of published.items) {
    const status = acceptedStatus(kind);
    items += `${items === "" ? "" : ","}{"id":"${id}","target_id":"${targetId}","status":"${status}"}`;
  }
  return {
    status: 202,
    text: `{"id":"${published.id}","items":[${items}]}`,
    headers: published.outcome === "replayed" ? [["idempotency-replayed", "true"]] : undefined,
  };
}

/** A name that no customer can have, because a uid contains no space. */
const unknownCustomer = " ";

/** `/api/v1/publications`: where each went, and what became of it. */
export function publicationRoutes(deps: PublicationDeps): Routes<"list" | "read" | "replay"> {
  return {
    list: route(
      {
        summary: "List publications, newest first",
        querystring: PublicationQuery,
        response: { 200: Type.Object({ publications: Type.Array(PublicationSummary) }) },
      },
      async ({ caller, query }) => {
        const own = customerOf(caller.scope);
        const customerUid = own ?? query.customer_uid;
        if (own !== undefined && query.customer_uid !== undefined && query.customer_uid !== own) {
          return { publications: [] };
        }
        const filter = { ...query, customer_uid: customerUid };
        return { publications: await listPublications(deps.queries, caller.orgId, filter) };
      },
    ),
    read: route(
      {
        summary: "Read a publication and what became of each of its items",
        params: IdParams,
        response: { 200: Type.Object({ publication: Publication }) },
      },
      async ({ caller, params: { id } }) => {
        if (!isId(id)) throw notFound();
        const scope = { orgId: caller.orgId, mailboxRetentionMs: mailboxRetentionMs(deps.config) };
        const named = { id, customerUid: customerOf(caller.scope) };
        return { publication: await readPublication(deps, scope, named) };
      },
    ),
    replay: route(
      {
        summary: "Send a publication once more to those that failed, or to targets that were added since",
        params: IdParams,
        body: PublicationReplayInput,
        response: { 202: PublicationReplay },
        errors: {
          402: "The workspace is suspended",
          409: "Too many targets would be reached",
          410: "Its payload was erased",
        },
      },
      async ({ caller: { orgId, scope }, params: { id }, body, reply }) => {
        if (!isId(id)) throw notFound();
        const replayed =
          body.to === "failed"
            ? await replayToFailed(deps, {
                orgId,
                id,
                customerUid: customerOf(scope),
                isNewWebhookId: body.webhook_id === "new",
              })
            : await publishToAdded(deps, { orgId, id });
        void reply.code(202);
        return replayed;
      },
    ),
  };
}
