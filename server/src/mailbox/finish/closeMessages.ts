import { textArray, uuidArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { withPartitions } from "../../postgres/partitions.ts";
import { idsOf, numberKeys } from "../message/batchKeys.ts";
import type { ClaimDeps } from "../claim/claimMessages.ts";

/** One message that its holder acknowledges, or rejects with a reason. */
export interface CloseRequest {
  key: string;
  messageId: string;
  /** Only a message of this mailbox; null means any. */
  mailboxId: string | null;
  /** Null where the API key alone is the proof. */
  claimToken: string | null;
  /** Why it is rejected; null acknowledges it. */
  reason: string | null;
}

/**
 * How a change of a claimed message ended. Forbidden: another key has claimed it; stale: there is no active claim, or one
 * with another token.
 */
export type ChangeResult =
  | "done"
  | "done before"
  | "unauthorized"
  | "forbidden"
  | "stale"
  | "expired"
  | "not found";

const resultsByLetter: Readonly<Record<string, ChangeResult>> = {
  k: "done",
  r: "done before",
  u: "unauthorized",
  f: "forbidden",
  s: "stale",
  x: "expired",
  n: "not found",
};

/** The results that close_messages and change_claims give as a letter each. */
export function readResults(letters: string): ChangeResult[] {
  return Array.from(letters, (letter) => resultsByLetter[letter]!);
}

/** Closes messages of many requests in one transaction; gives a result per request, in order. */
export async function closeMessages(
  deps: ClaimDeps & { onMessagesReady: (mailboxIds: string[]) => void },
  requests: readonly CloseRequest[],
): Promise<ChangeResult[]> {
  const order = orderById(requests);
  const sorted = order.map((index) => requests[index]!);
  const rows = await withPartitions(deps.pool, () =>
    callFunction(deps.pool, "close_messages", namedClaims(deps, sorted)),
  );
  const { codes, freed_mailbox_ids: freed } = rows[0]!;
  if (freed !== null) deps.onMessagesReady(idsOf(freed));
  const sortedResults = readResults(codes!);
  const results: ChangeResult[] = [];
  order.forEach((index, at) => {
    results[index] = sortedResults[at]!;
    if (results[index] !== "unauthorized") deps.onKeyUsed(requests[index]!.key);
  });
  return results;
}

/** The common parameters of close_messages and change_claims. */
export function namedClaims({ retentionMs }: ClaimDeps, requests: readonly CloseRequest[]) {
  const { keyHashes, keyNumbers } = numberKeys(requests);
  return {
    p_retention_ms: retentionMs,
    p_key_hashes: keyHashes,
    p_keys: keyNumbers,
    p_ids: uuidArray(requests.map((request) => request.messageId)),
    p_mailbox_ids: uuidArray(requests.map((request) => request.mailboxId)),
    p_claim_tokens: uuidArray(requests.map((request) => request.claimToken)),
    p_reasons: textArray(requests.map((request) => request.reason)),
  };
}

/** The indexes of requests in the order of their messages' ids, which all transactions that lock messages share. */
export function orderById(requests: readonly { messageId: string }[]): number[] {
  return requests
    .map((_request, index) => index)
    .sort((a, b) => (requests[a]!.messageId < requests[b]!.messageId ? -1 : 1));
}
