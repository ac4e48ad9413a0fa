import { sql, type Updateable } from "kysely";
import { maskedUrl } from "../../audit/differences.ts";
import type { Origin } from "../../audit/origin.ts";
import { recordChange } from "../../audit/recordChange.ts";
import { inTransactionOf, type AgentCardRow, type Queries } from "../../postgres/tables.ts";
import type { GoodCard } from "./examineCard.ts";

/** The changes of a newer card that wait for the owner's consent. */
export type Offer = Pick<AgentCardRow, "offered_origin" | "offered_signature">;

/** When a card was read, and how long it is fresh. */
interface Freshness {
  nowMs: number;
  freshForMs: number;
}

export function cardColumns(card: GoodCard, times: Freshness) {
  const { signatureFinding } = card;
  return {
    card: JSON.stringify(card.document),
    etag: card.etag,
    tenant: card.interface.tenant,
    extensions: card.extensions,
    push_notifications: card.pushNotifications,
    signature: signatureFinding.state,
    key_set_url: signatureFinding.keySetUrl,
    signature_detail: signatureFinding.detail,
    ...readColumns(times),
  } satisfies Updateable<AgentCardRow>;
}

const noOffer = { offered_origin: null, offered_signature: null } satisfies Offer;

function readColumns({ nowMs, freshForMs }: Freshness) {
  const nowSeconds = Math.floor(nowMs / 1000);
  return {
    fetched_at: nowSeconds,
    refresh_at: nowSeconds + Math.ceil(freshForMs / 1000),
    failures: 0,
    last_error: null,
    last_error_at: null,
    ...noOffer,
  } satisfies Updateable<AgentCardRow>;
}

/** Reads the stored card of an agent, with the interface in use; undefined if there is no such a2a target. */
export async function readCard(queries: Queries, targetId: string) {
  return queries
    .selectFrom("agent_cards as c")
    .innerJoin("targets as t", "t.id", "c.target_id")
    .select([
      "c.card_url",
      "c.etag",
      "c.tenant",
      "c.extensions",
      "c.push_notifications",
      "c.signature",
      "c.failures",
      "c.bearer_origin",
      "c.auth_header",
      "t.url",
    ])
    .where("c.target_id", "=", targetId)
    .executeTakeFirst();
}

/** Records that a card could not be read or used; the last usable card stays in use. Returns false if the target was deleted. */
export async function noteCardFailure(
  queries: Queries,
  targetId: string,
  failure: { problem: string; nowMs: number; retryInMs: number; offer?: Offer },
): Promise<boolean> {
  const nowSeconds = Math.floor(failure.nowMs / 1000);
  const { numUpdatedRows } = await queries
    .updateTable("agent_cards")
    .set({
      failures: sql`least(failures + 1, 1000)`,
      last_error: failure.problem,
      last_error_at: nowSeconds,
      refresh_at: nowSeconds + Math.ceil(failure.retryInMs / 1000),
      ...failure.offer,
    })
    .where("target_id", "=", targetId)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Records that the card at its URL is still the stored one. */
export async function noteCardUnchanged(queries: Queries, targetId: string, times: Freshness): Promise<void> {
  await queries
    .updateTable("agent_cards")
    .set(readColumns(times))
    .where("target_id", "=", targetId)
    .execute();
}

/**
 * Replaces the stored card with a good one.
 * @returns whether the interface for deliveries changed; `held` if the card was not replaced because the credential may not be sent
 *   to its origin; `gone` if the target was deleted.
 */
export async function replaceCard(
  queries: Queries,
  targetId: string,
  card: GoodCard,
  options: Freshness & {
    confirmOrigin?: string | undefined;
    /** The caller that requested the change; undefined if the service reads the card by itself. */
    origin?: Origin | undefined;
  },
): Promise<{ isInterfaceChanged: boolean } | "held" | "gone"> {
  return inTransactionOf(queries, async (transaction) => {
    // The target is locked before its card, as in every other transaction, so that two transactions cannot deadlock.
    const target = await transaction
      .selectFrom("targets")
      .select(["url", "org_id", "name"])
      .where("id", "=", targetId)
      .forUpdate()
      .executeTakeFirst();
    const present = await transaction
      .selectFrom("agent_cards")
      .select(["tenant", "extensions", "push_notifications", "bearer_origin"])
      .where("target_id", "=", targetId)
      .forUpdate()
      .executeTakeFirst();
    if (target === undefined || present === undefined) return "gone";
    const { bearer_origin: bearerOrigin } = present;
    const isHeld =
      bearerOrigin !== null && bearerOrigin !== card.origin && options.confirmOrigin !== card.origin;
    if (isHeld) return "held";
    await transaction
      .updateTable("agent_cards")
      .set({ ...cardColumns(card, options), ...(bearerOrigin !== null && { bearer_origin: card.origin }) })
      .where("target_id", "=", targetId)
      .execute();
    const isInterfaceChanged = target.url !== card.interface.url || present.tenant !== card.interface.tenant;
    const isCallChanged =
      isInterfaceChanged ||
      bearerOrigin !== null ||
      present.push_notifications !== card.pushNotifications ||
      present.extensions.join(" ") !== card.extensions.join(" ");
    if (isCallChanged) {
      await transaction
        .updateTable("targets")
        .set({
          url: card.interface.url,
          version: sql`version + 1`,
          ...(isInterfaceChanged && { updated_at: Math.floor(options.nowMs / 1000) }),
        })
        .where("id", "=", targetId)
        .execute();
    }
    // An unchanged card that the service read by itself is not a change for the audit log.
    if (isInterfaceChanged || options.origin !== undefined) {
      const service = { kind: "service", name: "agent cards" } as const;
      await recordChange(transaction, options.origin ?? { orgId: target.org_id, actor: service }, {
        action: "target.card_replaced",
        object: { kind: "target", id: targetId, name: target.name },
        before: { url: target.url === null ? null : maskedUrl(target.url), bearer_origin: bearerOrigin },
        after: {
          url: maskedUrl(card.interface.url),
          bearer_origin: bearerOrigin === null ? null : card.origin,
          card_signature: card.signatureFinding.state,
        },
      });
    }
    return { isInterfaceChanged };
  });
}

const dueLimit = 50;
/** Lease of a claimed card, longer than reading and checking it takes. If the process dies, the card is due again afterwards. */
const holdSeconds = 120;

/**
 * Claims cards that are due to be read again, so that no other node reads them at the same time.
 * @returns the ids of their targets.
 */
export async function takeDueCards(queries: Queries, nowMs: number): Promise<string[]> {
  const nowSeconds = Math.floor(nowMs / 1000);
  return inTransactionOf(queries, async (transaction) => {
    // Selected before the update, because on Citus each copy of the rows would select by itself.
    const due = await transaction
      .selectFrom("agent_cards as due")
      .innerJoin("targets as t", "t.id", "due.target_id")
      .select("due.target_id")
      .where("due.refresh_at", "<=", nowSeconds)
      .where("t.enabled", "=", true)
      .orderBy("due.refresh_at")
      .limit(dueLimit)
      .forUpdate("due")
      .skipLocked()
      .execute();
    if (due.length === 0) return [];
    const targetIds = due.map((row) => row.target_id);
    await transaction
      .updateTable("agent_cards")
      .set({ refresh_at: nowSeconds + holdSeconds })
      .where("target_id", "in", targetIds)
      .execute();
    return targetIds;
  });
}
