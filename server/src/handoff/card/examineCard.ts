import { checkTargetUrl } from "../../outbound/targetUrl.ts";
import { type SignatureFinding, verifyCard } from "./cardSignature.ts";
import { fetchCard, fetchKeySet } from "./fetchCard.ts";
import { type AgentCard, parseCard } from "./parseCard.ts";
import type { Parts } from "../../items/parts.ts";

export interface ExamineDeps extends Pick<Parts, "outbound" | "networks"> {
  config: { allowHttpTargets: boolean };
}

/** The card at an address as it is now. `problem` completes a sentence that begins with `the agent card`. */
export type Examination =
  | { kind: "good"; card: GoodCard; freshForMs: number }
  | { kind: "unchanged"; freshForMs: number }
  | { kind: "bad"; problem: string };

/** A valid card whose interface may be called. */
export interface GoodCard extends AgentCard {
  etag: string | null;
  /** The origin of the interface. */
  origin: string;
  signatureFinding: SignatureFinding;
}

/** Reads a card and checks all of it, before any of it is used. */
export async function examineCard(
  deps: ExamineDeps,
  request: { url: string; etag: string | null; timeoutMs?: number },
): Promise<Examination> {
  const fetched = await fetchCard(deps.outbound, request);
  if (fetched.kind === "failed") return { kind: "bad", problem: fetched.problem };
  if (fetched.kind === "unchanged") return fetched;
  const reading = parseCard(fetched.bytes);
  if (!reading.ok) return { kind: "bad", problem: reading.problem };
  const { card } = reading;
  const check = await checkTargetUrl(card.interface.url, {
    allowHttp: deps.config.allowHttpTargets,
    networks: deps.networks,
  });
  if (!check.ok) {
    return {
      kind: "bad",
      problem: `names an interface whose URL (${card.interface.urlPath}) ${check.reason}`,
    };
  }
  const signatureFinding = await verifyCard((url) => fetchKeySet(deps.outbound, url), card);
  return {
    kind: "good",
    card: { ...card, etag: fetched.etag, origin: check.url.origin, signatureFinding },
    freshForMs: fetched.freshForMs,
  };
}
