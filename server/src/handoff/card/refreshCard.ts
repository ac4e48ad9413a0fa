import type { RefreshedBy, RefreshOutcome } from "../../targets/record/kind.ts";
import type { CardSignatureState } from "./cardSignature.ts";
import { formOf, unmetSecurity } from "./cardSecurity.ts";
import {
  noteCardFailure,
  noteCardUnchanged,
  type Offer,
  readCard,
  replaceCard,
  takeDueCards,
} from "./cardStore.ts";
import { cardRetryMs, examineCard, type ExamineDeps, type GoodCard } from "./examineCard.ts";
import type { Parts } from "../../items/parts.ts";

export type RefreshDeps = ExamineDeps & Pick<Parts, "queries" | "log" | "nowMs">;

/** The outcome for targets, with the addition whether a good card has a new interface. */
type CardOutcome =
  | Exclude<RefreshOutcome, { kind: "current" }>
  | { kind: "current"; isInterfaceChanged: boolean };

/** Reads the card of an a2a target again. If the new card is faulty, the last good one stays in use. */
export async function refreshCard(
  deps: RefreshDeps,
  targetId: string,
  options: Partial<RefreshedBy> & { timeoutMs?: number } = {},
): Promise<CardOutcome> {
  const stored = await readCard(deps.queries, targetId);
  if (stored === undefined) return { kind: "gone" };
  const found = await examineCard(deps, {
    url: stored.card_url,
    etag: stored.etag,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  });
  const nowMs = deps.nowMs();
  const note = async (
    failure: Extract<CardOutcome, { problem: string }>,
    next: { retryInMs: number; offer?: Offer },
  ): Promise<CardOutcome> => {
    const { problem } = failure;
    const isNoted = await noteCardFailure(deps.queries, targetId, { problem, nowMs, ...next });
    return isNoted ? failure : { kind: "gone" };
  };
  const retry = { retryInMs: cardRetryMs(stored.failures + 1) };
  switch (found.kind) {
    case "bad":
      return note({ kind: "failed", problem: found.problem }, retry);
    case "unchanged":
      await noteCardUnchanged(deps.queries, targetId, { nowMs, freshForMs: found.freshForMs });
      return { kind: "current", isInterfaceChanged: false };
    case "good": {
      const { card, freshForMs } = found;
      const unmet = unmetSecurity(card.security, formOf(stored));
      if (unmet !== undefined) return note({ kind: "unmet", problem: unmet }, retry);
      const needed = consentNeeded(stored, card, options);
      if (needed === undefined) {
        const times = { nowMs, freshForMs };
        const replaced = await replaceCard(deps.queries, targetId, card, { ...times, ...options });
        if (replaced === "gone") return { kind: "gone" };
        if (replaced !== "held") return { kind: "current", ...replaced };
      }
      const held = needed ?? unconfirmedOrigin(card.origin);
      const offer = {
        offered_origin: needed === undefined || isElsewhere(stored, card) ? card.origin : null,
        offered_signature: lostSignature(stored, card),
      };
      return note(held, { retryInMs: freshForMs, offer });
    }
  }
}

type StoredTrust = { bearer_origin: string | null; signature: CardSignatureState };

/** Why a good card must not be used without the owner's consent; undefined if it may be used. */
function consentNeeded(stored: StoredTrust, card: GoodCard, consent: Partial<RefreshedBy>): Held | undefined {
  const isMoved = isElsewhere(stored, card);
  if (isMoved && consent.confirmOrigin !== card.origin) return unconfirmedOrigin(card.origin);
  const state = lostSignature(stored, card);
  if (state !== null && consent.confirmSignature !== state) {
    const origin = isMoved ? `"confirm_origin": "${card.origin}", ` : "";
    return {
      kind: "held",
      code: "signature_unconfirmed",
      problem: `had a verified signature, and its signature is now ${state}: to use the card anyway, refresh with {${origin}"confirm_signature": "${state}"}`,
    };
  }
  return undefined;
}

function isElsewhere({ bearer_origin: bearerOrigin }: StoredTrust, card: GoodCard): boolean {
  return bearerOrigin !== null && bearerOrigin !== card.origin;
}

/** The state of the card's signature if it is no longer verified. */
function lostSignature(
  { signature }: StoredTrust,
  { signatureFinding: { state } }: GoodCard,
): Offer["offered_signature"] {
  return signature === "verified" && state !== "verified" ? state : null;
}

type Held = Extract<RefreshOutcome, { kind: "held" }>;

function unconfirmedOrigin(origin: string): Held {
  return {
    kind: "held",
    code: "origin_unconfirmed",
    problem: `names an interface at ${origin}, and the credential was given for another origin: to send it there, refresh with {"confirm_origin": "${origin}"}`,
  };
}

const concurrency = 8;

/**
 * Reads the due cards again, until `isStopping`.
 * @returns the number of cards that were read, and how many of these were not usable.
 */
export async function refreshDueCards(
  deps: RefreshDeps,
  isStopping: () => boolean,
): Promise<{ cards: number; failed: number }> {
  const due = await takeDueCards(deps.queries, deps.nowMs());
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
 * The result of reading a card again after the agent reported that its interface is gone: a new interface, the same, or unknown
 * because the card could not be read or used.
 */
export type Reread = "moved" | "same" | "unknown";

export type RereadCard = (targetId: string, timeoutMs: number) => Promise<Reread>;

/** Reads a card at most once at a time per target (single flight), and caches the result for a minute. */
export function createCardRereader(deps: RefreshDeps): RereadCard {
  const inFlight = new Map<string, Promise<Reread>>();
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
    const present = inFlight.get(targetId);
    if (present !== undefined) return present;
    const known = last.get(targetId);
    if (known !== undefined && performance.now() - known.atMs < rereadPauseMs) {
      return Promise.resolve(known.isSame ? "same" : "unknown");
    }
    const work = reread(targetId, timeoutMs).finally(() => inFlight.delete(targetId));
    inFlight.set(targetId, work);
    return work;
  };
}
