import { hash } from "node:crypto";
import type pg from "pg";
import { byteaArray, int2Array, int4Array, int8Array, uuidArray } from "../db/binaryArray.ts";
import { callFunction } from "../db/callFunction.ts";
import { numberKeys } from "./callers.ts";
import { newClaimToken } from "./claimTokens.ts";
import type { ClaimedMessage } from "./message.ts";
import type { Places } from "./places.ts";

/** One request for the oldest messages of a mailbox. */
export interface ClaimRequest {
  /** The API key as presented. */
  key: string;
  mailboxId: string;
  /** At most so many messages: 1 to 100. */
  max: number;
  leaseMs: number;
  /** Names the request, so that repeating it gives the same claim. */
  claimId: string | null;
}

/** What became of a {@link ClaimRequest}. */
export type ClaimOutcome =
  | { kind: "claimed"; messages: ClaimedMessage[]; isRepeated: boolean; remaining: Remaining }
  /** `retryInMs`: when something becomes claimable as far as is known; 0 means that it was only busy. */
  | { kind: "empty"; retryInMs: number | null; remaining: Remaining }
  | { kind: "unauthorized" }
  | { kind: "notFound" };

/** What is left in the mailbox; counted up to 100. */
export interface Remaining {
  ready: number;
  claimed: number;
}

export interface ClaimDeps {
  pool: pg.Pool;
  /** Milliseconds after acceptance at which a message expires. */
  retentionMs: number;
  /** Told of each API key that a request was made with, as presented. */
  onKeyUsed: (key: string) => void;
}

interface ClaimRow {
  request: number | null;
  code: "b" | "r" | "u" | "n" | null;
  /** Of the message, or of the mailbox on a row `b`. */
  id: string;
  claimed_by: string;
  claim_token: string;
  claim_count: number;
  lease_until: number;
  ordering_key: string | null;
  event_type: string | null;
  correlation_id: string | null;
  payload: string;
  ready_left: number;
  claimed_left: number;
  next_in_ms: number | null;
  place: number;
}

/** Claims for many requests in one transaction; gives an outcome per request, in order. */
export async function claimMessages(
  deps: ClaimDeps & { places: Places },
  requests: readonly ClaimRequest[],
): Promise<ClaimOutcome[]> {
  // Requests with the same Claim-Id go one after the other: the later one finds the answer of the earlier.
  const later = repeatedClaimIds(requests);
  if (later.size === 0) return claimDistinct(deps, requests);
  const first = await claimDistinct(
    deps,
    requests.filter((_request, index) => !later.has(index)),
  );
  const outcomes: ClaimOutcome[] = [];
  for (let index = 0, next = 0; index < requests.length; index++) {
    outcomes.push(later.has(index) ? (await claimDistinct(deps, [requests[index]!]))[0]! : first[next++]!);
  }
  return outcomes;
}

function repeatedClaimIds(requests: readonly ClaimRequest[]): Set<number> {
  const seen = new Set<string>();
  const later = new Set<number>();
  requests.forEach((request, index) => {
    if (request.claimId === null) return;
    const name = `${request.mailboxId}${request.key}${request.claimId}`;
    if (seen.has(name)) later.add(index);
    seen.add(name);
  });
  return later;
}

async function claimDistinct(
  deps: ClaimDeps & { places: Places },
  requests: readonly ClaimRequest[],
): Promise<ClaimOutcome[]> {
  const { keyHashes, keyNumbers } = numberKeys(requests);
  const hasClaimIds = requests.some((request) => request.claimId !== null);
  const rows = await callFunction<ClaimRow>(deps.pool, {
    name: "claim_messages",
    text: "select * from claim_messages($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    values: [
      deps.retentionMs,
      keyHashes,
      keyNumbers,
      uuidArray(requests.map((request) => request.mailboxId)),
      uuidArray(requests.map(newClaimToken)),
      int2Array(requests.map((request) => request.max)),
      int4Array(requests.map((request) => request.leaseMs)),
      hasClaimIds ? byteaArray(requests.map(({ claimId }) => digestOf(claimId))) : null,
      int8Array(requests.map(({ mailboxId }) => deps.places.of(mailboxId))),
    ],
  });
  for (const row of rows) if (row.code === "b") deps.places.note(row.id, row.place);
  const outcomes = readOutcomes(requests, rows);
  requests.forEach(({ key }, index) => {
    if (outcomes[index]!.kind !== "unauthorized") deps.onKeyUsed(key);
  });
  return outcomes;
}

const digestBytes = 16;

function digestOf(claimId: string | null): Buffer | null {
  return claimId === null ? null : hash("sha256", claimId, "buffer").subarray(0, digestBytes);
}

function readOutcomes(requests: readonly ClaimRequest[], rows: readonly ClaimRow[]): ClaimOutcome[] {
  const boxes = new Map<string, ClaimRow>();
  const codes: ClaimRow["code"][] = [];
  const claimed: ClaimedMessage[][] = requests.map(() => []);
  for (const row of rows) {
    if (row.code === "b") boxes.set(row.id, row);
    else if (row.code === null) claimed[row.request! - 1]!.push(claimedMessage(row, requests));
    else codes[row.request! - 1] = row.code;
  }
  return requests.map(({ mailboxId }, index) => {
    const box = boxes.get(mailboxId);
    const remaining = { ready: box?.ready_left ?? 0, claimed: box?.claimed_left ?? 0 };
    const messages = claimed[index]!;
    const code = codes[index];
    if (code === "u") return { kind: "unauthorized" };
    if (code === "n") return { kind: "notFound" };
    if (code === "r") return { kind: "claimed", messages, isRepeated: true, remaining };
    if (messages.length > 0) return { kind: "claimed", messages, isRepeated: false, remaining };
    return { kind: "empty", retryInMs: box?.next_in_ms ?? null, remaining };
  });
}

function claimedMessage(row: ClaimRow, requests: readonly ClaimRequest[]): ClaimedMessage {
  return {
    id: row.id,
    mailboxId: requests[row.request! - 1]!.mailboxId,
    claimedBy: row.claimed_by,
    claimToken: row.claim_token,
    claimCount: row.claim_count,
    leaseUntilMs: row.lease_until,
    orderingKey: row.ordering_key,
    eventType: row.event_type,
    correlationId: row.correlation_id,
    payload: row.payload,
  };
}
