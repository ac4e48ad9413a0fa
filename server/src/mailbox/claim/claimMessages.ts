import { hash } from "node:crypto";
import type pg from "pg";
import { byteaArray, int2Array, int4Array, int8Array, uuidArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { numberKeys } from "../message/batchKeys.ts";
import { newClaimToken } from "./claimTokens.ts";
import type { ClaimedMessage } from "../message/message.ts";
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

/** See claim_messages.sql. */
interface ClaimRow {
  held: string | null;
  /** Null where the row is about a request or a mailbox. */
  id: string | null;
  claim_count: number;
  ordering_key: string | null;
  event_type: string | null;
  correlation_id: string | null;
  /** Null where the event is gone. */
  payload: string | null;
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
    text: "select held, id, claim_count, ordering_key, event_type, correlation_id, payload from claim_messages($1, $2, $3, $4, $5, $6, $7, $8, $9)",
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
  const answer = readAnswer(requests, rows);
  for (const [mailboxId, { place }] of answer.boxes) deps.places.note(mailboxId, place);
  const outcomes = requests.map((request, index) => outcomeOf(request, index, answer));
  requests.forEach(({ key }, index) => {
    if (outcomes[index]!.kind !== "unauthorized") deps.onKeyUsed(key);
  });
  return outcomes;
}

const digestBytes = 16;

function digestOf(claimId: string | null): Buffer | null {
  return claimId === null ? null : hash("sha256", claimId, "buffer").subarray(0, digestBytes);
}

interface ClaimAnswer {
  /** By the mailbox's id. */
  boxes: Map<string, Box>;
  /** What the requests at these places are: repeated, unauthorized, without a mailbox. */
  codes: Map<number, "r" | "u" | "n">;
  /** By the request's place. */
  claimed: ClaimedMessage[][];
}

/** What is left in a mailbox. */
interface Box {
  remaining: Remaining;
  retryInMs: number | null;
  place: number;
}

function readAnswer(requests: readonly ClaimRequest[], rows: readonly ClaimRow[]): ClaimAnswer {
  const answer: ClaimAnswer = { boxes: new Map(), codes: new Map(), claimed: requests.map(() => []) };
  let held: HeldClaim | undefined;
  for (const row of rows) {
    if (row.id === null) {
      readNote(row.held!, answer);
      continue;
    }
    if (row.held !== null) held = readHeld(row.held);
    if (row.payload === null) continue;
    const { index, claimedBy, claimToken, leaseUntilMs } = held!;
    answer.claimed[index]!.push({
      id: row.id,
      mailboxId: requests[index]!.mailboxId,
      claimedBy,
      claimToken,
      claimCount: row.claim_count,
      leaseUntilMs,
      orderingKey: row.ordering_key,
      eventType: row.event_type,
      correlationId: row.correlation_id,
      payload: row.payload,
    });
  }
  return answer;
}

/** What the messages of one request have in common. */
interface HeldClaim extends Pick<ClaimedMessage, "claimedBy" | "claimToken" | "leaseUntilMs"> {
  /** The request's. */
  index: number;
}

function readHeld(text: string): HeldClaim {
  const [request, claimedBy, claimToken, leaseUntil] = text.replaceAll("-", "").split(" ");
  return {
    index: Number(request) - 1,
    claimedBy: claimedBy!,
    claimToken: claimToken!,
    leaseUntilMs: Number(leaseUntil),
  };
}

function readNote(text: string, { boxes, codes }: ClaimAnswer): void {
  const [code, subject, ready, claimed, retryInMs, place] = text.split(" ") as [string, string, ...string[]];
  if (code === "b") {
    boxes.set(subject.replaceAll("-", ""), {
      remaining: { ready: Number(ready), claimed: Number(claimed) },
      retryInMs: retryInMs === "-" ? null : Number(retryInMs),
      place: Number(place),
    });
  } else {
    codes.set(Number(subject) - 1, code as "r" | "u" | "n");
  }
}

function outcomeOf({ mailboxId }: ClaimRequest, index: number, answer: ClaimAnswer): ClaimOutcome {
  const box = answer.boxes.get(mailboxId);
  const remaining = box?.remaining ?? { ready: 0, claimed: 0 };
  const messages = answer.claimed[index]!;
  const code = answer.codes.get(index);
  if (code === "u") return { kind: "unauthorized" };
  if (code === "n") return { kind: "notFound" };
  if (code === "r") return { kind: "claimed", messages, isRepeated: true, remaining };
  if (messages.length > 0) return { kind: "claimed", messages, isRepeated: false, remaining };
  return { kind: "empty", retryInMs: box?.retryInMs ?? null, remaining };
}
