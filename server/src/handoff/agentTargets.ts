import { sql } from "kysely";
import type { Origin } from "../audit/origin.ts";
import type { Queries } from "../postgres/tables.ts";
import { ApiError } from "../http/contract/errors.ts";
import { checkTargetUrl } from "../outbound/targetUrl.ts";
import type {
  AgentChanges,
  AgentView,
  HandoffAuth,
  HandoffTargets,
  PreparedHandoff,
} from "../targets/handoffTargets.ts";
import type { SecretBox } from "../items/secretBox.ts";
import { kindOf } from "../targets/store.ts";
import { bearerContext } from "./agent/agent.ts";
import { cardColumns } from "./card/cardStore.ts";
import { securityRequirements, unmetSecurity } from "./card/cardSecurity.ts";
import { examineCard } from "./card/examineCard.ts";
import { type CardConsent, refreshCard, type RefreshDeps } from "./card/refreshCard.ts";

export interface AgentTargetsDeps extends RefreshDeps {
  box: SecretBox;
}

/** The part of a2a targets that is not a target's: cards, bearers and where results go. */
export function createAgentTargets(deps: AgentTargetsDeps): HandoffTargets {
  return {
    prepare: (input) => prepare(deps, input),
    refresh: (targetId, by) => refresh(deps, targetId, by),
    change: (transaction, target, changes) => change(deps, transaction, target, changes),
    describe: (targetIds) => describe(deps.queries, targetIds),
  };
}

async function prepare(
  deps: AgentTargetsDeps,
  input: Parameters<HandoffTargets["prepare"]>[0],
): Promise<PreparedHandoff> {
  const policy = { allowHttp: deps.config.allowHttpTargets, networks: deps.networks };
  const check = await checkTargetUrl(input.agentCardUrl, policy);
  if (!check.ok) throw new ApiError(400, `agent_card_url ${check.reason}`);
  const found = await examineCard(deps, { url: input.agentCardUrl, etag: null });
  if (found.kind === "bad") throw new ApiError(400, `agent_card_url: the agent card ${found.problem}`);
  if (found.kind === "unchanged") throw new Error("a card was unchanged that had never been read");
  const { card, freshForMs } = found;
  const { auth, confirmOrigin } = input;
  const unmet = unmetSecurity(card.security, auth);
  if (unmet !== undefined) throw new ApiError(400, `auth: the agent card ${unmet}`);
  if (auth.type !== "none") requireOrigin(card.origin, [check.url.origin, confirmOrigin]);
  return {
    url: card.interface.url,
    async save(transaction, target) {
      await checkResultTarget(transaction, target.orgId, input.resultTargetId ?? null);
      await transaction
        .insertInto("agent_cards")
        .values({
          target_id: target.id,
          card_url: input.agentCardUrl,
          ...cardColumns(card, { nowMs: deps.nowMs(), freshForMs }),
          ...sealedCredential(deps.box, target.id, auth, card.origin),
          result_target_id: input.resultTargetId ?? null,
        })
        .execute();
    },
  };
}

async function refresh(
  deps: AgentTargetsDeps,
  targetId: string,
  by: CardConsent & { origin: Origin },
): Promise<void> {
  const outcome = await refreshCard(deps, targetId, by);
  switch (outcome.kind) {
    case "current":
    case "gone":
      return;
    case "failed":
      throw new ApiError(502, `the agent card ${outcome.problem}; the last good one stays in use`);
    case "unmet":
      throw new ApiError(409, `the agent card ${outcome.problem}; the last good one stays in use`, {
        code: "credential_unmet",
      });
    case "held":
      throw new ApiError(409, `the agent card ${outcome.problem}; the last good one stays in use`, {
        code: outcome.code,
      });
  }
}

async function change(
  deps: AgentTargetsDeps,
  transaction: Queries,
  target: { id: string; orgId: string; url: string },
  { auth, confirmOrigin, resultTargetId }: AgentChanges,
): Promise<void> {
  if (resultTargetId !== undefined) await checkResultTarget(transaction, target.orgId, resultTargetId);
  const { origin } = new URL(target.url);
  if (auth !== undefined) {
    const known = await transaction
      .selectFrom("agent_cards")
      .select(["card", "card_url", "bearer_origin"])
      .where("target_id", "=", target.id)
      .executeTakeFirstOrThrow();
    const unmet = unmetSecurity(securityRequirements(known.card as Record<string, unknown>), auth);
    if (unmet !== undefined) throw new ApiError(400, `auth: the agent card ${unmet}`);
    if (auth.type !== "none")
      requireOrigin(origin, [new URL(known.card_url).origin, known.bearer_origin, confirmOrigin]);
  }
  await transaction
    .updateTable("agent_cards")
    .set({
      ...(resultTargetId !== undefined && { result_target_id: resultTargetId }),
      ...(auth !== undefined && sealedCredential(deps.box, target.id, auth, origin)),
    })
    .where("target_id", "=", target.id)
    .execute();
}

/**
 * A credential goes to the origin of its agent's card, to one that it went to before, or to one that its owner names: a card
 * may be changed by others than those the token was made for.
 */
function requireOrigin(origin: string, known: readonly (string | null | undefined)[]): void {
  if (known.includes(origin)) return;
  throw new ApiError(
    409,
    `the agent card names an interface at ${origin}, which is not the card's own origin: to send the credential there, add "confirm_origin": "${origin}"`,
    { code: "origin_unconfirmed" },
  );
}

/** Results go to those who wait for them and never to another agent, so that no two agents keep each other busy. */
async function checkResultTarget(
  transaction: Queries,
  orgId: string,
  targetId: string | null,
): Promise<void> {
  if (targetId === null) return;
  const kind = await kindOf(transaction, { orgId, id: targetId });
  if (kind === undefined || kind === "a2a") {
    throw new ApiError(400, "result_target_id must be a mailbox or webhook target of this workspace");
  }
}

function sealedCredential(box: SecretBox, targetId: string, auth: HandoffAuth, origin: string) {
  if (auth.type === "none") return { bearer: null, bearer_origin: null, auth_header: null };
  const isKey = auth.type === "api_key";
  const bearer = box.seal(Buffer.from(isKey ? auth.value : auth.token), bearerContext(targetId));
  return { bearer, bearer_origin: origin, auth_header: isKey ? auth.header : null };
}

function shownAuth(row: { has_bearer: boolean; auth_header: string | null }): AgentView["auth"] {
  if (!row.has_bearer) return { type: "none" };
  return row.auth_header === null ? { type: "bearer" } : { type: "api_key", header: row.auth_header };
}

async function describe(queries: Queries, targetIds: readonly string[]): Promise<Map<string, AgentView>> {
  if (targetIds.length === 0) return new Map();
  const rows = await queries
    .selectFrom("agent_cards")
    .select([
      "target_id",
      "card_url",
      "signature",
      "key_set_url",
      "signature_detail",
      "fetched_at",
      "last_error",
      "last_error_at",
      "offered_origin",
      "bearer_origin",
      "auth_header",
      "result_target_id",
      sql<string>`card ->> 'name'`.as("name"),
      sql<string>`card ->> 'version'`.as("version"),
      sql<boolean>`bearer is not null`.as("has_bearer"),
    ])
    .where("target_id", "in", [...targetIds])
    .execute();
  return new Map(
    rows.map((row) => [
      row.target_id,
      {
        agent_card_url: row.card_url,
        auth: shownAuth(row),
        agent_name: row.name,
        agent_version: row.version,
        card_fetched_at: row.fetched_at,
        card_error: row.last_error,
        card_error_at: row.last_error_at,
        card_signature: row.signature,
        card_signature_keys: row.key_set_url,
        card_signature_detail: row.signature_detail,
        offered_origin: row.offered_origin,
        result_target_id: row.result_target_id,
      },
    ]),
  );
}
