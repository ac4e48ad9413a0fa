import type { JWK } from "jose";
import type { ExchangeResponse } from "../../outbound/exchangeResult.ts";
import type { Outbound } from "../../outbound/outbound.ts";
import { freshForMs } from "./cardFreshness.ts";

/** The result of reading a card's address. `problem` completes a sentence that begins with `the agent card`. */
export type CardFetch =
  | { kind: "card"; bytes: Buffer; etag: string | null; freshForMs: number }
  | { kind: "unchanged"; freshForMs: number }
  | { kind: "failed"; problem: string };

const cardTimeoutMs = 10_000;
const cardLimitBytes = 1024 * 1024;
const keySetTimeoutMs = 5_000;
const keySetLimitBytes = 64 * 1024;
const maxKeys = 100;

/**
 * Reads an agent card, conditionally when `etag` is given. The credential is never sent with it: a card is public, and its address
 * need not belong to the agent.
 */
export async function fetchCard(
  outbound: Outbound,
  { url, etag, timeoutMs = cardTimeoutMs }: { url: string; etag: string | null; timeoutMs?: number },
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
  if (result.kind === "error") return failed(`could not be read: ${result.message}`);
  if (result.status === 304 && etag !== null) {
    return { kind: "unchanged", freshForMs: freshForMs(result.headers) };
  }
  if (result.status !== 200) return failed(`could not be read: ${describeStatus(result)}`);
  if (result.truncated) return failed("is larger than 1 MiB");
  return {
    kind: "card",
    bytes: result.body,
    etag: usableEtag(result.headers.etag),
    freshForMs: freshForMs(result.headers),
  };
}

/** Reads a key set (RFC 7517) that a signature names; a text says why it could not be had. */
export async function fetchKeySet(outbound: Outbound, url: string): Promise<readonly JWK[] | string> {
  const result = await outbound.request({
    method: "GET",
    url,
    headers: ["accept", "application/jwk-set+json, application/json"],
    timeoutMs: keySetTimeoutMs,
    bodyLimitBytes: keySetLimitBytes,
  });
  if (result.kind === "error") return `the key set could not be read: ${result.message}`;
  if (result.status !== 200) return `the key set could not be read: ${describeStatus(result)}`;
  if (result.truncated) return "the key set is larger than 64 KiB";
  try {
    const { keys } = JSON.parse(result.body.toString("utf8")) as { keys: unknown };
    if (!Array.isArray(keys) || keys.length > maxKeys) return "the key set is not one (RFC 7517)";
    return keys.filter((key): key is JWK => key !== null && typeof key === "object");
  } catch {
    return "the key set is not JSON";
  }
}

function failed(problem: string): CardFetch {
  return { kind: "failed", problem };
}

function describeStatus({ status, headers }: ExchangeResponse): string {
  if (status < 300 || status > 399) return `its address answered ${status}`;
  const to = headers.location?.replace(/[^\u0021-\u007e]/g, "?").slice(0, 200);
  return `its address answered ${status}${to ? ` redirect to ${to}` : ""}; redirects are not followed`;
}

/** An entity tag (RFC 9110, section 8.8.3) that can be sent back; any other text is ignored. */
function usableEtag(etag: string | undefined): string | null {
  return etag !== undefined && /^(?:W\/)?"[\x21\x23-\x7e]{0,200}"$/.test(etag) ? etag : null;
}
