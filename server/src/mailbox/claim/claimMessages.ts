import { hash, randomFillSync } from "node:crypto";
import type pg from "pg";
import { byteaArray, int2Array, int4Array, int8Array, uuidArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import type { RowOf } from "../../postgres/hot/functionCall.ts";
import { numberKeys } from "../message/findMailbox.ts";
import type { ClaimedMessage } from "../message/message.ts";
import type { Watermarks } from "./watermarks.ts";

/** One request for the oldest messages of a mailbox. */
export interface ClaimRequest {
  /** The API key as presented. */
  key: string;
  mailboxId: string;
  /** The most messages: 1 to 100. */
  max: number;
  leaseMs: number;
  /** The request's Claim-Id: a repeated request with the same one gets the same claim. */
  claimId: string | null;
}

/** The outcome of a {@link ClaimRequest}. */
export type ClaimOutcome =
  | { kind: "claimed"; messages: ClaimedMessage[]; isRepeated: boolean; remaining: Remaining }
  /** `retryInMs`: time until a message becomes claimable; null if none does without a new event; 0 if others had them locked. */
  | { kind: "empty"; retryInMs: number | null; remaining: Remaining }
  | { kind: "unauthorized" }
  | { kind: "notFound" };

/** Messages left in the mailbox, counted up to 100. */
export interface Remaining {
  ready: number;
  claimed: number;
}

export interface ClaimDeps {
  pool: pg.Pool;
  /** Milliseconds after acceptance at which a message expires. */
  retentionMs: number;
  /** Called with the API key of each authorized request, as presented. */
  onKeyUsed: (key: string) => void;
}

interface OldestDeps extends ClaimDeps {
  watermarks: Watermarks;
  /** Called for each mailbox of a statement, with the number of its requests and of the ready messages that are left. */
  onClaimed?: (mailboxId: string, requests: number, ready: number) => void;
}

type ClaimRow = RowOf<"claim_messages">;
/** The common part of the messages of one request. */
type ClaimHead = NonNullable<ClaimRow["head"]>;

/** Claims messages for many requests in one transaction. Returns an outcome per request, in order. */
export async function claimMessages(
  deps: OldestDeps,
  requests: readonly ClaimRequest[],
): Promise<ClaimOutcome[]> {
  // Requests with the same Claim-Id run one after the other, so that the later request finds the answer of the earlier one.
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

async function claimDistinct(deps: OldestDeps, requests: readonly ClaimRequest[]): Promise<ClaimOutcome[]> {
  const { keyHashes, keyNumbers } = numberKeys(requests);
  const watermarks = requests.map(({ mailboxId }) => deps.watermarks.of(mailboxId));
  const hasClaimIds = requests.some((request) => request.claimId !== null);
  const rows = await callFunction(deps.pool, "claim_messages", {
    p_retention_ms: deps.retentionMs,
    p_key_hashes: keyHashes,
    p_keys: keyNumbers,
    p_mailbox_ids: uuidArray(requests.map((request) => request.mailboxId)),
    p_claim_tokens: uuidArray(requests.map(newClaimToken)),
    p_maxes: int2Array(requests.map((request) => request.max)),
    p_leases_ms: int4Array(requests.map((request) => request.leaseMs)),
    p_claim_digests: hasClaimIds ? byteaArray(requests.map(({ claimId }) => digestOf(claimId))) : null,
    p_watermarks: int8Array(watermarks),
  });
  const answer = readAnswer(requests, rows, await publishedPayloads(deps.pool, rows));
  for (const [mailboxId, { walkedTo, remaining }] of answer.boxes) {
    const from = watermarks[requests.findIndex((request) => request.mailboxId === mailboxId)]!;
    deps.watermarks.note(mailboxId, from, walkedTo);
    const its =
      answer.boxes.size === 1 ? requests : requests.filter((request) => request.mailboxId === mailboxId);
    deps.onClaimed?.(mailboxId, its.length, remaining.ready);
  }
  const outcomes = requests.map((request, index) => outcomeOf(request, index, answer));
  requests.forEach(({ key }, index) => {
    if (outcomes[index]!.kind !== "unauthorized") deps.onKeyUsed(key);
  });
  return outcomes;
}

/** Payloads by publication id. A publication stores its payload once for all of its items. */
async function publishedPayloads(pool: pg.Pool, rows: readonly ClaimRow[]): Promise<Map<string, string>> {
  const payloads = new Map<string, string>();
  const published = rows.filter((row) => row.publication_id !== null);
  if (published.length === 0) return payloads;
  const ids = new Set(published.map((row) => row.publication_id!));
  const found = await callFunction(pool, "publication_payloads", { p_ids: uuidArray([...ids]) });
  // A payload that is empty was erased after the claim.
  for (const { id, payload } of found) if (payload!.length > 0) payloads.set(id!, payload!.toString("utf8"));
  return payloads;
}

const digestBytes = 16;

function digestOf(claimId: string | null): Buffer | null {
  return claimId === null ? null : hash("sha256", claimId, "buffer").subarray(0, digestBytes);
}

interface ClaimAnswer {
  boxes: Map<string, Box>;
  /** By the request's index; undefined or null where nothing was claimed. */
  outcomes: ClaimHead["outcome"][];
  /** By the request's index. */
  claimed: ClaimedMessage[][];
}

interface Box {
  remaining: Remaining;
  retryInMs: number | null;
  walkedTo: number;
}

function readAnswer(
  requests: readonly ClaimRequest[],
  rows: readonly ClaimRow[],
  published: ReadonlyMap<string, string>,
): ClaimAnswer {
  const answer: ClaimAnswer = { boxes: new Map(), outcomes: [], claimed: requests.map(() => []) };
  let head: ClaimHead | undefined;
  for (const row of rows) {
    if (row.rest !== null) {
      const { mailbox_id: id, ready, claimed, retry_in_ms: retryInMs, walked_to: walkedTo } = row.rest;
      const remaining = { ready: ready!, claimed: claimed! };
      answer.boxes.set(id!, { remaining, retryInMs, walkedTo: walkedTo! });
      continue;
    }
    if (row.head !== null) {
      head = row.head;
      answer.outcomes[head.request! - 1] = head.outcome;
    }
    const payload = row.publication_id === null ? row.payload : (published.get(row.publication_id) ?? null);
    if (row.id === null || payload === null) continue;
    const index = head!.request! - 1;
    answer.claimed[index]!.push({
      id: row.id,
      mailboxId: requests[index]!.mailboxId,
      claimedBy: head!.claimed_by!,
      claimToken: head!.claim_token!,
      claimCount: row.claim_count!,
      leaseUntilMs: head!.lease_until!,
      orderingKey: row.ordering_key,
      eventType: row.event_type,
      correlationId: row.correlation_id,
      traceContext: row.trace_context,
      payload,
    });
  }
  return answer;
}

function outcomeOf({ mailboxId }: ClaimRequest, index: number, answer: ClaimAnswer): ClaimOutcome {
  const box = answer.boxes.get(mailboxId);
  const remaining = box?.remaining ?? { ready: 0, claimed: 0 };
  const messages = answer.claimed[index]!;
  switch (answer.outcomes[index]) {
    case "unauthorized":
      return { kind: "unauthorized" };
    case "not_found":
      return { kind: "notFound" };
    case "repeated":
      return { kind: "claimed", messages, isRepeated: true, remaining };
    case "claimed":
      // All messages may be missing, because their events were erased or dropped.
      if (messages.length > 0) return { kind: "claimed", messages, isRepeated: false, remaining };
      break;
    case null:
    case undefined:
  }
  return { kind: "empty", retryInMs: box?.retryInMs ?? null, remaining };
}

const tokenBytes = 16;
const tokens = Buffer.allocUnsafe(tokenBytes * 256);
let tokensUsed = tokens.length;

/** The secret of one claim: 128 random bits as 32 lower-case hex characters. */
export function newClaimToken(): string {
  if (tokensUsed === tokens.length) {
    randomFillSync(tokens);
    tokensUsed = 0;
  }
  const token = tokens.toString("hex", tokensUsed, tokensUsed + tokenBytes);
  tokensUsed += tokenBytes;
  return token;
}
