import { Type } from "typebox";
import type { IncomingHttpHeaders } from "node:http";
import type { ReplayDeps } from "../events/replayEvent.ts";
import { keysCheckedInSql, usersAndKeys } from "../http/contract/access.ts";
import { requiredKey } from "../http/contract/credentials.ts";
import {
  found,
  idOf,
  notFound,
  orRefused,
  organizationPending,
  organizationSuspended,
} from "../http/contract/errors.ts";
import { payloadErased } from "../events/refusals.ts";
import {
  type FastAnswer,
  routesOf,
  type RouteCall,
  sendAnswer,
  type WholeRequest,
} from "../http/contract/route.ts";
import { customerOf } from "../http/contract/scope.ts";
import type { Intake } from "../intake/intake.ts";
import type { NewPublication, Published } from "../intake/publishItems.ts";
import { readItem } from "../intake/readItem.ts";
import { largerThan, publicationRefusal, tooManyTargets } from "../intake/refusals.ts";
import { billingRefusals, itemAudit, ItemHeaders } from "../intake/routes.ts";
import { acceptTraced } from "../intake/traceAcceptance.ts";
import { acceptedStatus } from "../postgres/kinds.ts";
import { isPathUid } from "../targets/record/names.ts";
import { listPublications, readPublication } from "./readPublication.ts";
import { publishToAdded, replayToFailed } from "./replayPublication.ts";
import {
  AcceptedPublication,
  Publication,
  PublicationQuery,
  PublicationReplay,
  PublicationReplayInput,
  PublicationSummary,
} from "./schemas.ts";
import examples from "./examples.json" with { type: "json" };
import type { Parts } from "../items/parts.ts";

const route = routesOf<PublicationDeps>("Publications");
const ingestionRoute = routesOf<PublicationDeps>("Ingestion");

export interface PublicationDeps extends ReplayDeps, Pick<Parts, "pool" | "reads" | "traces"> {
  intake: Intake;
}

/** The parts that both routes share. */
const publishing = {
  audit: itemAudit,
  description:
    "Creates one item for each webhook, agent and mailbox whose `event_types` match. One transaction creates all items or none; the 202 response is sent when the items are durable. Disabled webhooks and agents hold their items; disabled mailboxes are skipped. The body is any JSON document; it is kept byte for byte and stored once. Each item is billed.",
  headers: ItemHeaders,
  response: { 202: AcceptedPublication },
  errors: {
    ...billingRefusals,
    409: "The Idempotency-Key was used with another body, or the publication would reach too many targets",
  },
  examples: examples.publish,
  rawBody: "json",
  async handle(
    { request, reply, params: { customer } }: RouteCall<{ customer?: string }>,
    deps: PublicationDeps,
  ) {
    const key = requiredKey(request);
    const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
    return sendAnswer(reply, await publish(deps, { headers: request.headers, body, customer, key }));
  },
  fast: ({ headers, body, id, key }: WholeRequest, deps: PublicationDeps) =>
    publish(deps, { headers, body, customer: id === "" ? undefined : id, key }),
} as const;

const publishToCustomerRoute = ingestionRoute("publishToCustomer", "POST /p/:customer", {
  access: keysCheckedInSql({ takes: ["send", "customer"], names: "customer" }),
  summary: "Publish to all targets of a customer",
  ...publishing,
});

const publishRoute = ingestionRoute("publish", "POST /p", {
  access: keysCheckedInSql({ takes: ["send"] }),
  summary: "Publish to all targets that belong to no customer",
  ...publishing,
});

interface PresentedPublication {
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** The uid in the path; undefined for `POST /p`, which publishes to the targets without a customer. */
  customer: string | undefined;
  key: string;
}

/** @throws {ApiError} 400 that names the field or header. The promise rejects with the error for a refused publication. */
function publish(
  deps: PublicationDeps,
  { headers, body, customer, key }: PresentedPublication,
): Promise<FastAnswer> {
  const { eventType, correlationId, orderingKey, idempotencyKey } = readItem(headers, body);
  const publication: NewPublication = {
    key,
    // If the path has no valid uid, the request still goes through authorization, so that a wrong key is refused first.
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

/** The answer for an accepted publication. @throws {ApiError} for a refused one. */
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

/** No customer can have this uid, because a uid contains no space. */
const unknownCustomer = " ";

const listRoute = route("listPublications", "GET /api/v1/publications", {
  access: usersAndKeys("viewer", { takes: ["read", "customer"], names: "own" }),
  summary: "List publications, newest first",
  query: PublicationQuery,
  response: { 200: Type.Object({ publications: Type.Array(PublicationSummary) }) },
  examples: examples.listPublications,
  async handle({ caller, query }, deps) {
    const own = customerOf(caller.scope);
    const customerUid = own ?? query.customer_uid;
    if (own !== undefined && query.customer_uid !== undefined && query.customer_uid !== own) {
      return { publications: [] };
    }
    const filter = { ...query, customer_uid: customerUid, isOfPresentCustomer: own !== undefined };
    return { publications: await listPublications(deps.queries, caller.orgId, filter) };
  },
});

const readRoute = route("readPublication", "GET /api/v1/publications/:id", {
  access: usersAndKeys("viewer", { takes: ["read", "customer"], names: "publication" }),
  summary: "Read a publication and the status of each of its items",
  response: { 200: Type.Object({ publication: Publication }) },
  errors: { 429: "The organization has too many reads of publications in progress" },
  examples: examples.readPublication,
  async handle(call, deps) {
    const { caller, params } = call;
    const id = idOf(params.id);
    const scope = { orgId: caller.orgId, mailboxRetentionMs: deps.config.mailboxRetentionMs };
    const named = { id, customerUid: customerOf(caller.scope) };
    return deps.reads.run("lists", call, async () => ({
      publication: found(await readPublication(deps, scope, named)),
    }));
  },
});

const replayRoute = route("replayPublication", "POST /api/v1/publications/:id/replay", {
  access: usersAndKeys("member", { takes: ["customer"], names: "publication" }),
  audit: itemAudit,
  summary: "Replay the failed items of a publication, or publish to targets added since",
  body: PublicationReplayInput,
  response: { 202: PublicationReplay },
  errors: {
    402: "The organization is suspended",
    409: "The publication would reach too many targets",
    410: "The payload was erased",
    429: "The organization has too many replays of publications in progress",
  },
  examples: examples.replayPublication,
  async handle(call, deps) {
    const { caller, params, body, reply } = call;
    const { orgId } = caller;
    const id = idOf(params.id);
    const customerUid = customerOf(caller.scope);
    const isNewWebhookId = body.webhook_id === "new";
    const replayed = await deps.reads.run("publication-replays", call, async () => {
      const result =
        body.to === "failed"
          ? await replayToFailed(deps, { orgId, id, customerUid, isNewWebhookId })
          : await publishToAdded(deps, { orgId, id });
      return orRefused(result, "replayed", replayRefusals).replayed;
    });
    void reply.code(202);
    return replayed;
  },
});

const replayRefusals = {
  not_found: notFound,
  erased: payloadErased,
  suspended: organizationSuspended,
  pending: organizationPending,
  too_many_targets: tooManyTargets,
  too_large: ({ targetId }: { targetId: string }) => largerThan(targetId),
};

/** `POST /p/:customer` and `POST /p`, which make an item for every target, and `/api/v1/publications`. */
export const publicationRoutes = [publishToCustomerRoute, publishRoute, listRoute, readRoute, replayRoute];
