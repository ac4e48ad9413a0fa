import { type Static, Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { removal } from "../http/contract/removal.ts";
import { isId } from "../postgres/ids.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { ApiError, notFound } from "../http/contract/errors.ts";
import { type RouteDefinition, route, type Routes } from "../http/contract/route.ts";
import { IdParams } from "../http/contract/schemas.ts";
import { type Beside, targetAnswer } from "./answers.ts";
import { createTarget, type TargetDeps } from "./createTarget.ts";
import { deleteTarget } from "./deleteTarget.ts";
import { checkCatalogued } from "./eventTypes.ts";
import { handoffTargets } from "./handoffTargets.ts";
import { asSeenBy, newWithinReach, refuseBeyondReach, withinReach } from "./ofCustomer.ts";
import { RevealedSecrets, revealSecret } from "./revealSecret.ts";
import { deletePreviousSecret, rotateSecret } from "./rotateSecret.ts";
import {
  Consent,
  enabling,
  enablingRefusals,
  RotationBody,
  Target,
  targetInputs,
  TargetQuery,
} from "./schemas.ts";
import { listTargets, readTarget, type StoredTarget, tooManyTargets } from "./store.ts";
import { updateTarget } from "./updateTarget.ts";

const catalogued =
  "Where there is a catalogue of event types, what a target newly names in event_types has to be in it.";

type CollectionNames = "list" | "create" | "read" | "update" | "remove";
type SecretNames = "rotate" | "reveal" | "deletePrevious";

/** `/api/v1/targets`: where items go, whatever the kind. */
export function targetRoutes(deps: TargetDeps): Routes<CollectionNames | "refresh" | SecretNames> {
  return { ...collectionRoutes(deps), refresh: refreshRoute(deps), ...secretRoutes(deps) };
}

function collectionRoutes(deps: TargetDeps): Routes<CollectionNames> {
  const inputs = targetInputs(deps.config.maxBodyBytes);
  return {
    list: route(
      {
        summary: "List targets, oldest first",
        description: "All of them, unless `limit` asks for a page.",
        querystring: TargetQuery,
        response: { 200: Type.Object({ targets: Type.Array(Target) }) },
      },
      async ({ caller, query: { customer_uid: customerUid, ...query } }) => {
        const asked = { ...query, customerUid: customerUid === "" ? null : customerUid };
        const filter = withinReach(caller.scope, asked);
        const targets = filter === undefined ? [] : await listTargets(deps.queries, caller.orgId, filter);
        return { targets: await withAgents(deps, seenBy(caller, targets)) };
      },
    ),
    create: route(
      {
        summary: "Create a webhook, mailbox or a2a target",
        description: `The answer of a webhook target holds its signing secret, this once. ${catalogued}`,
        body: inputs.newTarget,
        response: { 200: Target },
        errors: {
          409: `${tooManyTargets}; or a bearer token would go to another origin than its agent card's, which needs confirm_origin`,
        },
      },
      async (call) => {
        const { caller } = call;
        const body = await newWithinReach(deps.queries, caller, call.body);
        const { target, secret } = await createTarget(deps, originOf(call), body);
        deps.changes.publishTarget(caller.orgId, target.id);
        return withAgent(deps, asSeenBy(caller.scope, target), { secret });
      },
    ),
    read: route(
      { summary: "Read a target", params: IdParams, response: { 200: Target } },
      async ({ caller, params }) =>
        withAgent(deps, asSeenBy(caller.scope, await findTarget(deps, caller.orgId, params.id))),
    ),
    update: route(
      {
        summary: "Change a target",
        description: `${enabling} ${catalogued}`,
        params: IdParams,
        body: inputs.targetChanges,
        response: { 200: Target },
        errors: enablingRefusals,
      },
      async (call) => {
        const { caller, params, body } = call;
        const present = await findTarget(deps, caller.orgId, params.id);
        await refuseBeyondReach(deps.queries, caller, present, body);
        await checkCatalogued(deps.queries, caller.orgId, body.event_types, present);
        const { target, heldItems } = await updateTarget(deps, originOf(call), present, body);
        return withAgent(deps, asSeenBy(caller.scope, target), { heldItems });
      },
    ),
    remove: removeRoute(deps),
  };
}

function removeRoute(deps: TargetDeps): RouteDefinition {
  return removal({ summary: "Delete a target; what is queued for it becomes CANCELED" }, async (call, id) => {
    const { caller } = call;
    if (caller.scope !== undefined) {
      await refuseBeyondReach(deps.queries, caller, await findTarget(deps, caller.orgId, id));
    }
    await deleteTarget(deps, originOf(call), id);
  });
}

function refreshRoute(deps: TargetDeps): RouteDefinition {
  return route(
    {
      summary: "Read the agent card of an a2a target again",
      description:
        "The card is judged wholly before it takes the place of the last good one. A card that moves the agent to an origin that the bearer token was not given for waits for confirm_origin.",
      params: IdParams,
      body: Consent,
      response: { 200: Target },
      errors: {
        409: "The card needs the owner's consent; the last good one stays in use",
        502: "The card cannot be read or used; the last good one stays in use",
      },
    },
    async (call) => {
      const { caller, params, body } = call;
      const { id } = await findTargetOfKind(deps, caller.orgId, params.id, "a2a");
      await handoffTargets(deps).refresh(id, {
        origin: originOf(call),
        confirmOrigin: body?.confirm_origin,
        confirmSignature: body?.confirm_signature,
      });
      deps.changes.publishTarget(caller.orgId, id);
      return withAgent(deps, await readTarget(deps.queries, caller.orgId, id));
    },
  );
}

function secretRoutes(deps: TargetDeps): Routes<SecretNames> {
  return {
    rotate: route(
      {
        summary: "Give a webhook target a new signing secret",
        description:
          "Deliveries carry the signatures of both secrets until the previous one is deleted, or ends by itself when the rotation says so. Rotating again before that drops the oldest of the three.",
        params: IdParams,
        body: RotationBody,
        response: { 200: Target },
      },
      async (call) => {
        const { id } = await findTargetOfKind(deps, call.caller.orgId, call.params.id, "webhook");
        const { target, secret } = await rotateSecret(deps, originOf(call), id, call.body ?? {});
        return targetAnswer(asSeenBy(call.caller.scope, target), { secret });
      },
    ),
    reveal: route(
      {
        summary: "Read the signing secret of a webhook target again",
        description:
          "Only where the organization's `secrets_can_be_revealed` is on, and with an admin's session. Each time is on record in the audit log as `target.secret_revealed`, committed before the answer leaves.",
        params: IdParams,
        response: { 200: RevealedSecrets },
        answerHeaders: ["Cache-Control"],
      },
      async (call) => {
        const { id } = await findTargetOfKind(deps, call.caller.orgId, call.params.id, "webhook");
        const revealed = await revealSecret(deps, originOf(call), id);
        void call.reply.header("cache-control", "no-store");
        return revealed;
      },
    ),
    deletePrevious: removal(
      {
        summary: "Delete the previous signing secret, which ends a rotation",
        description: "Answers the same when no rotation is in progress, so that it is safe to repeat.",
      },
      async (call, id) => {
        const target = await findTargetOfKind(deps, call.caller.orgId, id, "webhook");
        await deletePreviousSecret(deps, originOf(call), target);
      },
    ),
  };
}

function seenBy({ scope }: Caller, targets: readonly StoredTarget[]): StoredTarget[] {
  return targets.map((target) => asSeenBy(scope, target));
}

/** Targets as they are answered; one query more when there are agents among them. */
async function withAgents(
  deps: TargetDeps,
  targets: readonly StoredTarget[],
): Promise<Static<typeof Target>[]> {
  const ids = targets.filter(({ kind }) => kind === "a2a").map(({ id }) => id);
  const agents = ids.length === 0 ? undefined : await handoffTargets(deps).describe(ids);
  return targets.map((target) => targetAnswer(target, { agent: agents?.get(target.id) }));
}

async function withAgent(
  deps: TargetDeps,
  target: StoredTarget,
  beside: Omit<Beside, "agent"> = {},
): Promise<Static<typeof Target>> {
  if (target.kind !== "a2a") return targetAnswer(target, beside);
  const agents = await handoffTargets(deps).describe([target.id]);
  return targetAnswer(target, { ...beside, agent: agents.get(target.id) });
}

async function findTarget(deps: TargetDeps, orgId: string, id: string): Promise<StoredTarget> {
  if (!isId(id)) throw notFound();
  return readTarget(deps.queries, orgId, id);
}

/** @throws {ApiError} 400 when the target is of another kind. */
async function findTargetOfKind(
  deps: TargetDeps,
  orgId: string,
  id: string,
  kind: "webhook" | "a2a",
): Promise<StoredTarget> {
  const target = await findTarget(deps, orgId, id);
  if (target.kind !== kind) {
    throw new ApiError(400, `only ${kind} targets have this: the target is of kind ${target.kind}`);
  }
  return target;
}
