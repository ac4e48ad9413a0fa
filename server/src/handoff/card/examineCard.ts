import { checkTargetUrl } from "../../outbound/targetUrl.ts";
import { type SignatureFinding, verifyCard } from "./cardSignature.ts";
import { type AgentCard, parseCard } from "./parseCard.ts";
import type { Parts } from "../../items/parts.ts";
import type { JWK } from "jose";
import { compressionText, type ExchangeResponse, statusText } from "../../outbound/exchangeResult.ts";
import type { Outbound } from "../../outbound/outbound.ts";

export interface ExamineDeps extends Pick<Parts, "outbound" | "networks"> {
  config: { allowHttpTargets: boolean };
}

/** The result of reading and checking a card. `problem` completes a sentence that begins with `the agent card`. */
export type Examination =
  | { kind: "good"; card: GoodCard; freshForMs: number }
  | { kind: "unchanged"; freshForMs: number }
  | { kind: "bad"; problem: string };

/** A valid card whose interface may be called. */
export interface GoodCard extends AgentCard {
  etag: string | null;
  origin: string;
  signatureFinding: SignatureFinding;
}

/** Reads a card and checks all of it before any part is used. */
export async function examineCard(deps: ExamineDeps, request: CardRequest): Promise<Examination> {
  const fetched = await fetchCard(deps.outbound, request);
  if (fetched.kind !== "card") return fetched;
  const reading = parseCard(fetched.bytes);
  if (!reading.ok) return bad(reading.problem);
  const { card } = reading;
  const check = await checkTargetUrl(card.interface.url, deps);
  if (!check.ok) return bad(`names an interface whose URL (${card.interface.urlPath}) ${check.reason}`);
  const signatureFinding = await verifyCard((url) => fetchKeySet(deps.outbound, url), card);
  return {
    kind: "good",
    card: { ...card, etag: fetched.etag, origin: check.url.origin, signatureFinding },
    freshForMs: fetched.freshForMs,
  };
}

interface CardRequest {
  url: string;
  etag: string | null;
  timeoutMs?: number;
}

/** The result of fetching a card's URL. */
type CardFetch =
  | { kind: "card"; bytes: Buffer; etag: string | null; freshForMs: number }
  | Exclude<Examination, { kind: "good" }>;

const cardTimeoutMs = 10_000;
const cardLimitBytes = 1024 * 1024;
const keySetTimeoutMs = 5_000;
const keySetLimitBytes = 64 * 1024;
const maxKeys = 100;

/**
 * Fetches an agent card, conditionally if `etag` is given. The credential is never sent: a card is public, and its URL need not
 * belong to the agent.
 */
async function fetchCard(
  outbound: Outbound,
  { url, etag, timeoutMs = cardTimeoutMs }: CardRequest,
): Promise<CardFetch> {
  const headers = ["accept", "application/json", "a2a-version", "1.0"];
  if (etag !== null) headers.push("if-none-match", etag);
  const result = await outbound.request({
    method: "GET",
    url,
    headers,
    timeoutMs: Math.min(timeoutMs, cardTimeoutMs),
    bodyLimitBytes: cardLimitBytes,
  });
  if (result.kind === "error") return bad(`could not be read: ${result.message}`);
  if (result.status === 304 && etag !== null) {
    return { kind: "unchanged", freshForMs: freshForMs(result.headers) };
  }
  if (result.status !== 200) return bad(`could not be read: ${describeStatus(result)}`);
  const compression = compressionText(result.headers);
  if (compression !== undefined) return bad(compression);
  if (result.truncated) return bad("is larger than 1 MiB");
  return {
    kind: "card",
    bytes: result.body,
    etag: usableEtag(result.headers.etag),
    freshForMs: freshForMs(result.headers),
  };
}

/** Fetches a key set (RFC 7517) that a signature names. A string is the reason why it could not be read. */
async function fetchKeySet(outbound: Outbound, url: string): Promise<readonly JWK[] | string> {
  const result = await outbound.request({
    method: "GET",
    url,
    headers: ["accept", "application/jwk-set+json, application/json"],
    timeoutMs: keySetTimeoutMs,
    bodyLimitBytes: keySetLimitBytes,
  });
  if (result.kind === "error") return `the key set could not be read: ${result.message}`;
  if (result.status !== 200) return `the key set could not be read: ${describeStatus(result)}`;
  const compression = compressionText(result.headers);
  if (compression !== undefined) return `the key set ${compression}`;
  if (result.truncated) return "the key set is larger than 64 KiB";
  try {
    const { keys } = JSON.parse(result.body.toString("utf8")) as { keys: unknown };
    if (!Array.isArray(keys) || keys.length > maxKeys) return "the key set is not valid (RFC 7517)";
    return keys.filter((key): key is JWK => key !== null && typeof key === "object");
  } catch {
    return "the key set is not JSON";
  }
}

function bad(problem: string): Extract<Examination, { kind: "bad" }> {
  return { kind: "bad", problem };
}

function describeStatus({ status, headers }: ExchangeResponse): string {
  const to = headers.location?.replace(/[^\u0021-\u007e]/g, "?").slice(0, 200);
  return statusText("its address", status, to);
}

/** Returns an entity tag (RFC 9110, section 8.8.3) that can be sent back; null for any other text. */
function usableEtag(etag: string | undefined): string | null {
  return etag !== undefined && /^(?:W\/)?"[\x21\x23-\x7e]{0,200}"$/.test(etag) ? etag : null;
}

const seconds = 1_000;
const minutes = 60 * seconds;

/** Freshness of a response without caching headers. */
const defaultAgeMs = 60 * minutes;
/** The shortest time until the service reads a card again by itself, even if the response allows less. */
const minAgeMs = 5 * minutes;
const maxAgeMs = 24 * 60 * minutes;
const firstRetryMs = minutes;
const maxRetryMs = 60 * minutes;

/** The caching headers of a response. */
interface CacheHeaders {
  "cache-control"?: string | undefined;
  age?: string | undefined;
}

/** How long a card that was just read is fresh, in milliseconds (RFC 9111, sections 4.2 and 5.2.2). */
export function freshForMs(headers: CacheHeaders): number {
  const directives = (headers["cache-control"] ?? "")
    .toLowerCase()
    .split(",")
    .map((text) => text.trim());
  if (directives.some((directive) => /^no-(?:cache|store)\b/.test(directive))) return minAgeMs;
  const said = directives.map((directive) => /^max-age="?(\d{1,12})"?$/.exec(directive)?.[1]).find(Boolean);
  if (said === undefined) return defaultAgeMs;
  const usedSeconds = /^\d{1,12}$/.test(headers.age ?? "") ? Number(headers.age) : 0;
  return Math.min(Math.max((Number(said) - usedSeconds) * seconds, minAgeMs), maxAgeMs);
}

/** Delay in milliseconds after this many consecutive failures to read a card. */
export function cardRetryMs(failures: number): number {
  return Math.min(firstRetryMs * 2 ** Math.min(Math.max(failures, 1) - 1, 10), maxRetryMs);
}
