import { sql } from "kysely";
import { isHandoff, kindNumbers } from "../postgres/kinds.ts";
import type { AgentCardRow, Queries } from "../postgres/tables.ts";
import { checkTargetUrl } from "../outbound/targetUrl.ts";
import type { AgentAuth, AgentChanges, Agents, AgentView, PreparedAgent } from "../targets/a2a/agents.ts";
import { invalid, type Refused } from "../targets/record/refusal.ts";
import {
  type Beside,
  type Decision,
  readTarget,
  type StoredTarget,
  type TargetKey,
} from "../targets/record/store.ts";
import type { SecretBox } from "../items/secretBox.ts";
import { bearerContext } from "./agent/agent.ts";
import { cardColumns } from "./card/cardStore.ts";
import { formOf, securityRequirements, unmetSecurity } from "./card/cardSecurity.ts";
import { examineCard } from "./card/examineCard.ts";
import { refreshCard, type RefreshDeps } from "./card/refreshCard.ts";
import type { Parts } from "../items/parts.ts";

export type AgentTargetsDeps = RefreshDeps & Pick<Parts, "box">;

/** Manages the agents behind a2a targets: their cards, credentials and result targets. */
export function createAgentTargets(deps: AgentTargetsDeps): Agents {
  return {
    prepare: (input, target) => prepare(deps, input, target),
    refresh: (targetId, by) => refreshCard(deps, targetId, by),
    decide: (transaction, target, changes) => decide(deps, transaction, target, changes),
    describe: (targetIds) => describe(deps.queries, targetIds),
  };
}

async function prepare(
  deps: AgentTargetsDeps,
  { agentCardUrl, auth, confirmOrigin, resultTargetId = null }: Parameters<Agents["prepare"]>[0],
  { orgId }: TargetKey,
): Promise<PreparedAgent | Refused> {
  const check = await checkTargetUrl(agentCardUrl, deps);
  if (!check.ok) return invalid(`agent_card_url ${check.reason}`);
  const found = await examineCard(deps, { url: agentCardUrl, etag: null });
  if (found.kind === "bad") return invalid(`agent_card_url: the agent card ${found.problem}`);
  if (found.kind === "unchanged") throw new Error("a card was unchanged that had never been read");
  const { card, freshForMs } = found;
  const unmet = unmetSecurity(card.security, auth);
  if (unmet !== undefined) return invalid(`auth: the agent card ${unmet}`);
  const known = [check.url.origin, confirmOrigin];
  if (auth.type !== "none" && !known.includes(card.origin)) return unconfirmed(card.origin);
  return {
    ok: true,
    url: card.interface.url,
    check: (transaction) => refuseResultTarget(transaction, orgId, resultTargetId),
    async save(transaction, { id }) {
      await transaction
        .insertInto("agent_cards")
        .values({
          target_id: id,
          card_url: agentCardUrl,
          ...cardColumns(card, { nowMs: deps.nowMs(), freshForMs }),
          ...sealedCredential(deps.box, id, auth, card.origin),
          result_target_id: resultTargetId,
        })
        .execute();
    },
  };
}

async function decide(
  deps: AgentTargetsDeps,
  transaction: Queries,
  target: StoredTarget & TargetKey,
  changes: AgentChanges,
): Promise<Decision | Refused> {
  const { auth, confirmOrigin, resultTargetId } = changes;
  const refused = await refuseResultTarget(transaction, target.orgId, resultTargetId);
  if (refused !== undefined) return refused;
  const { origin } = new URL(target.url!);
  const present = await transaction
    .selectFrom("agent_cards")
    .select(["card", "card_url", "bearer_origin", "auth_header", "result_target_id", "last_error"])
    .where("target_id", "=", target.id)
    .executeTakeFirstOrThrow();
  if (auth !== undefined) {
    const unmet = unmetSecurity(securityRequirements(present.card as Record<string, unknown>), auth);
    // The card that could not replace the present one may require another credential.
    if (unmet !== undefined && present.last_error === null) return invalid(`auth: the agent card ${unmet}`);
    const known = [new URL(present.card_url).origin, present.bearer_origin, confirmOrigin];
    if (auth.type !== "none" && !known.includes(origin)) return unconfirmed(origin);
  }
  return {
    ok: true,
    beside: differencesOf(present, changes),
    async save(transaction, { id }) {
      await transaction
        .updateTable("agent_cards")
        .set({
          ...(resultTargetId !== undefined && { result_target_id: resultTargetId }),
          ...(auth !== undefined && sealedCredential(deps.box, id, auth, origin)),
        })
        .where("target_id", "=", id)
        .execute();
    },
  };
}

type PresentAgent = Pick<AgentCardRow, "bearer_origin" | "auth_header" | "result_target_id">;

/** An agent's changes for the audit log: that a credential changed, never its value. */
function differencesOf(present: PresentAgent, { auth, confirmOrigin, resultTargetId }: AgentChanges): Beside {
  return {
    before: {
      ...(auth && { auth: authName(present) }),
      ...(resultTargetId !== undefined && { result_target_id: present.result_target_id }),
    },
    after: {
      ...(auth && { auth: newAuthName(auth) }),
      ...(confirmOrigin !== undefined && { confirm_origin: confirmOrigin }),
      ...(resultTargetId !== undefined && { result_target_id: resultTargetId }),
    },
  };
}

function authName(present: PresentAgent): string {
  const form = formOf(present);
  return form.type === "api_key" ? `api_key in ${form.header}` : form.type;
}

function newAuthName(auth: AgentAuth): string {
  switch (auth.type) {
    case "none":
      return "none";
    case "bearer":
      return "bearer (a new token)";
    case "api_key":
      return `api_key in ${auth.header} (a new value)`;
  }
}

/**
 * The refusal of a credential whose origin is neither that of the agent card, nor one that the credential was sent to before,
 * nor one that the owner confirms. Someone other than the credential's issuer may be able to change the card.
 */
function unconfirmed(origin: string): Refused {
  return { ok: false, refusal: { kind: "origin_unconfirmed", origin } };
}

/** Refuses an agent as the receiver of results, so that two agents cannot send each other results forever. */
async function refuseResultTarget(
  transaction: Queries,
  orgId: string,
  targetId: string | null | undefined,
): Promise<Refused | undefined> {
  if (targetId === null || targetId === undefined) return undefined;
  const target = await readTarget(transaction, { orgId, id: targetId });
  return target === undefined || isHandoff(kindNumbers[target.kind])
    ? invalid("result_target_id must be a mailbox or webhook target of this organization")
    : undefined;
}

function sealedCredential(box: SecretBox, targetId: string, auth: AgentAuth, origin: string) {
  if (auth.type === "none") return { bearer: null, bearer_origin: null, auth_header: null };
  const isKey = auth.type === "api_key";
  const bearer = box.seal(Buffer.from(isKey ? auth.value : auth.token), bearerContext(targetId));
  return { bearer, bearer_origin: origin, auth_header: isKey ? auth.header : null };
}

async function describe(queries: Queries, targetIds: readonly string[]): Promise<Map<string, AgentView>> {
  if (targetIds.length === 0) return new Map();
  const rows = await queries
    .selectFrom("agent_cards")
    .select([
      "target_id",
      "card_url as agent_card_url",
      sql<string>`card ->> 'name'`.as("agent_name"),
      sql<string>`card ->> 'version'`.as("agent_version"),
      "fetched_at as card_fetched_at",
      "last_error as card_error",
      "last_error_at as card_error_at",
      "signature as card_signature",
      "key_set_url as card_signature_keys",
      "signature_detail as card_signature_detail",
      "offered_origin",
      "offered_signature",
      "result_target_id",
      "bearer_origin",
      "auth_header",
    ])
    .where("target_id", "in", [...targetIds])
    .execute();
  return new Map(
    rows.map(({ target_id, bearer_origin, auth_header, ...view }) => [
      target_id,
      { ...view, auth: formOf({ bearer_origin, auth_header }) },
    ]),
  );
}
