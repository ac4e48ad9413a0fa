import type { Origin } from "../../audit/origin.ts";
import type { RefreshOutcome } from "../../targets/record/kind.ts";
import { cardRetryMs } from "./cardFreshness.ts";
import type { CardSignatureState } from "./cardSignature.ts";
import { type CredentialForm, unmetSecurity } from "./cardSecurity.ts";
import { noteCardFailure, noteCardUnchanged, readCard, replaceCard, takeDueCards } from "./cardStore.ts";
import { examineCard, type ExamineDeps, type GoodCard } from "./examineCard.ts";
import type { Parts } from "../../items/parts.ts";

export type RefreshDeps = ExamineDeps & Pick<Parts, "queries" | "log" | "nowMs">;

/** The owner's agreement; a card that needs it is not used before. */
export interface CardConsent {
  /** The origin that the credential may go to from now on. */
  confirmOrigin?: string | undefined;
  /** The signature state that is accepted, although the card's signature was verified before. */
  confirmSignature?: string | undefined;
}

/** As targets see it, and whether a good card names another interface. */
type CardOutcome =
  | Exclude<RefreshOutcome, { kind: "current" }>
  | { kind: "current"; isInterfaceChanged: boolean };

type HeldCode = Extract<RefreshOutcome, { kind: "held" }>["code"];

/** Reads the card of an a2a target again. Whatever is wrong with the new card, the last good one stays in use. */
export async function refreshCard(
  deps: RefreshDeps,
  targetId: string,
  options: CardConsent & { timeoutMs?: number; origin?: Origin } = {},
): Promise<CardOutcome> {
  const stored = await readCard(deps.queries, targetId);
  if (stored === undefined) return { kind: "gone" };
  const found = await examineCard(deps, {
    url: stored.card_url,
    etag: stored.etag,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  });
  const nowMs = deps.nowMs();
  switch (found.kind) {
    case "bad":
      await noteCardFailure(deps.queries, targetId, {
        problem: found.problem,
        nowMs,
        retryInMs: cardRetryMs(stored.failures + 1),
      });
      return { kind: "failed", problem: found.problem };
    case "unchanged":
      await noteCardUnchanged(deps.queries, targetId, { nowMs, freshForMs: found.freshForMs });
      return { kind: "current", isInterfaceChanged: false };
    case "good": {
      const unmet = unmetSecurity(found.card.security, formOf(stored));
      if (unmet !== undefined) {
        await noteCardFailure(deps.queries, targetId, {
          problem: unmet,
          nowMs,
          retryInMs: cardRetryMs(stored.failures + 1),
        });
        return { kind: "unmet", problem: unmet };
      }
      const needed = consentNeeded(stored, found.card, options);
      const replaced =
        needed === undefined &&
        (await replaceCard(deps.queries, targetId, found.card, {
          nowMs,
          freshForMs: found.freshForMs,
          confirmedOrigin: options.confirmOrigin,
          origin: options.origin,
        }));
      if (replaced && replaced.isReplaced) {
        return { kind: "current", isInterfaceChanged: replaced.isInterfaceChanged };
      }
      const held = needed ?? unconfirmedOrigin(found.card.origin);
      await noteCardFailure(deps.queries, targetId, {
        problem: held.problem,
        nowMs,
        retryInMs: found.freshForMs,
        offeredOrigin: found.card.origin,
      });
      return { kind: "held", ...held };
    }
  }
}

function formOf(stored: { bearer_origin: string | null; auth_header: string | null }): CredentialForm {
  if (stored.bearer_origin === null) return { type: "none" };
  return stored.auth_header === null ? { type: "bearer" } : { type: "api_key", header: stored.auth_header };
}

/** Why a good card may not be used without the owner's word; undefined when it may. */
function consentNeeded(
  stored: { bearer_origin: string | null; signature: CardSignatureState },
  card: GoodCard,
  consent: CardConsent,
): Held | undefined {
  const { bearer_origin: bearerOrigin } = stored;
  if (bearerOrigin !== null && bearerOrigin !== card.origin && consent.confirmOrigin !== card.origin) {
    return unconfirmedOrigin(card.origin);
  }
  const { state } = card.signatureFinding;
  if (stored.signature === "verified" && state !== "verified" && consent.confirmSignature !== state) {
    return {
      code: "signature_unconfirmed",
      problem: `had a verified signature and now has one that is ${state}: to use it all the same, refresh with {"confirm_signature": "${state}"}`,
    };
  }
  return undefined;
}

interface Held {
  code: HeldCode;
  problem: string;
}

function unconfirmedOrigin(origin: string): Held {
  return {
    code: "origin_unconfirmed",
    problem: `names an interface at ${origin}, and the credential was given for another origin: to send it there, refresh with {"confirm_origin": "${origin}"}`,
  };
}

const dueLimit = 50;
const concurrency = 8;
/** A claimed card's lease: longer than an examination takes. If the process dies, the card is due again after it. */
const holdMs = 120_000;

/**
 * Reads again the cards whose time has come, until `isStopping`.
 * @returns how many were read, and how many were not good.
 */
export async function refreshDueCards(
  deps: RefreshDeps,
  isStopping: () => boolean,
): Promise<{ cards: number; failed: number }> {
  const due = await takeDueCards(deps.queries, { nowMs: deps.nowMs(), limit: dueLimit, holdMs });
  const counts = { cards: 0, failed: 0 };
  const work = async (): Promise<void> => {
    for (let id = due.pop(); id !== undefined && !isStopping(); id = due.pop()) {
      counts.cards++;
      const outcome = await refreshCard(deps, id);
      if (outcome.kind === "current" || outcome.kind === "gone") continue;
      counts.failed++;
      deps.log.warn({ target_id: id, reason: outcome.problem }, "an agent card could not be renewed");
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return counts;
}

const rereadPauseMs = 60_000;
const maxRemembered = 1_000;

/**
 * The interface in a card that was read again because the agent said that its interface is gone: another one, the same, or
 * unknown because the card could not be read and used.
 */
export type Reread = "moved" | "same" | "unknown";

/** Rereads a card within `timeoutMs`. */
export type RereadCard = (targetId: string, timeoutMs: number) => Promise<Reread>;

/** Single flight per target, its result cached for a minute. */
export function createCardRereader(deps: RefreshDeps): RereadCard {
  const underWay = new Map<string, Promise<Reread>>();
  const last = new Map<string, { atMs: number; isSame: boolean }>();

  async function reread(targetId: string, timeoutMs: number): Promise<Reread> {
    const atMs = performance.now();
    if (last.size >= maxRemembered) last.clear();
    last.set(targetId, { atMs, isSame: false });
    const outcome = await refreshCard(deps, targetId, { timeoutMs });
    if (outcome.kind !== "current") return "unknown";
    if (outcome.isInterfaceChanged) return "moved";
    last.set(targetId, { atMs, isSame: true });
    return "same";
  }

  return (targetId, timeoutMs) => {
    const present = underWay.get(targetId);
    if (present !== undefined) return present;
    const known = last.get(targetId);
    if (known !== undefined && performance.now() - known.atMs < rereadPauseMs) {
      return Promise.resolve(known.isSame ? "same" : "unknown");
    }
    const work = reread(targetId, timeoutMs).finally(() => underWay.delete(targetId));
    underWay.set(targetId, work);
    return work;
  };
}
