import { hash } from "node:crypto";
import type pg from "pg";
import { byteaArray, int2Array, int4Array, uuidArray } from "../db/binaryArray.ts";
import { numberKeys } from "./callers.ts";
import { newClaimToken } from "./claimTokens.ts";
import type { ClaimedMessage } from "./message.ts";

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

/** What is left in the mailbox; counted up to 1000. */
export interface Remaining {
  ready: number;
  claimed: number;
}

export interface ClaimDeps {
  pool: pg.Pool;
  /** Milliseconds after acceptance at which a message expires. */
  retentionMs: number;
  onKeyUsed: (keyId: string) => void;
}

interface ClaimRow {
  request: number;
  code: "c" | "e" | "r" | "u" | "n" | null;
  key_id: string | null;
  claim_token: string | null;
  ready_left: number | null;
  claimed_left: number | null;
  next_in_ms: number | null;
  id: string;
  claim_count: number;
  lease_until: number;
  ordering_key: string | null;
  event_type: string | null;
  correlation_id: string | null;
  payload: string;
}

/** Claims for many requests in one transaction; gives an outcome per request, in order. */
export async function claimMessages(
  deps: ClaimDeps,
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

async function claimDistinct(deps: ClaimDeps, requests: readonly ClaimRequest[]): Promise<ClaimOutcome[]> {
  const { keyHashes, keyNumbers } = numberKeys(requests);
  const tokens = requests.map(newClaimToken);
  const hasClaimIds = requests.some((request) => request.claimId !== null);
  const { rows } = await deps.pool.query<ClaimRow>({
    name: "claim_messages",
    text: "select * from claim_messages($1, $2, $3, $4, $5, $6, $7, $8)",
    values: [
      deps.retentionMs,
      keyHashes,
      keyNumbers,
      uuidArray(requests.map((request) => request.mailboxId)),
      uuidArray(tokens),
      int2Array(requests.map((request) => request.max)),
      int4Array(requests.map((request) => request.leaseMs)),
      hasClaimIds ? byteaArray(requests.map(({ claimId }) => digestOf(claimId))) : null,
    ],
  });
  return readOutcomes(deps, requests, tokens, rows);
}

const digestBytes = 16;

function digestOf(claimId: string | null): Buffer | null {
  return claimId === null ? null : hash("sha256", claimId, "buffer").subarray(0, digestBytes);
}

function readOutcomes(
  deps: ClaimDeps,
  requests: readonly ClaimRequest[],
  tokens: string[],
  rows: ClaimRow[],
): ClaimOutcome[] {
  const headers: ClaimRow[] = [];
  const claimed: ClaimRow[][] = requests.map(() => []);
  for (const row of rows) {
    if (row.code === null) claimed[row.request - 1]!.push(row);
    else headers[row.request - 1] = row;
  }
  return requests.map((request, index) => {
    const header = headers[index]!;
    if (header.key_id !== null) deps.onKeyUsed(header.key_id);
    const remaining = { ready: header.ready_left ?? 0, claimed: header.claimed_left ?? 0 };
    switch (header.code) {
      case "u":
        return { kind: "unauthorized" };
      case "n":
        return { kind: "notFound" };
      case "e":
        return { kind: "empty", retryInMs: header.next_in_ms, remaining };
      case "c":
      case "r":
      case null: {
        const isRepeated = header.code === "r";
        const claimToken = isRepeated ? header.claim_token! : tokens[index]!;
        const messages = claimed[index]!.map((row) =>
          claimedMessage(row, { mailboxId: request.mailboxId, claimedBy: header.key_id!, claimToken }),
        );
        return { kind: "claimed", messages, isRepeated, remaining };
      }
    }
  });
}

function claimedMessage(
  row: ClaimRow,
  claim: Pick<ClaimedMessage, "mailboxId" | "claimedBy" | "claimToken">,
): ClaimedMessage {
  return {
    id: row.id,
    ...claim,
    claimCount: row.claim_count,
    leaseUntilMs: row.lease_until,
    orderingKey: row.ordering_key,
    eventType: row.event_type,
    correlationId: row.correlation_id,
    payload: row.payload,
  };
}
