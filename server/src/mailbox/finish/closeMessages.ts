import { textArray, uuidArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { withPartitions } from "../../postgres/partitions.ts";
import { repeatDeadlocked } from "../../postgres/pool.ts";
import { numberKeys } from "../message/findMailbox.ts";
import type { ClaimDeps } from "../claim/claimMessages.ts";

/** A request to acknowledge one message, or to reject it with a reason. */
export interface CloseRequest {
  key: string;
  messageId: string;
  /** The mailbox that must have the message; null for any. */
  mailboxId: string | null;
  /** Null where the API key alone proves the claim. */
  claimToken: string | null;
  /** Why the message is rejected; null acknowledges it. */
  reason: string | null;
}

/**
 * The result of changing a claimed message. Forbidden: another API key has claimed it. Stale: it has no active claim, or a claim
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

export type ChangeDeps = ClaimDeps & { onMessagesReady: (mailboxIds: string[]) => void };

/** Closes messages for many requests in one transaction. Returns a result per request, in order. */
export async function closeMessages(
  deps: ChangeDeps,
  requests: readonly CloseRequest[],
): Promise<ChangeResult[]> {
  const { results } = await changeInOrder(deps, requests, (sorted) =>
    callFunction(deps.pool, "close_messages", namedClaims(deps, sorted)),
  );
  return results;
}

/** The answer of close_messages and change_claims: a letter per request, and the mailboxes in which messages became ready. */
interface Answer {
  codes: string | null;
  freed_mailbox_ids: readonly (string | null)[] | null;
}

/**
 * Calls a function that changes messages for many requests, in the order of the messages' ids. Two calls can still deadlock: a
 * plan may lock messages in another order, and change_claims locks them by mailbox. A call that PostgreSQL ends to resolve a
 * deadlock has changed nothing, and is retried.
 * @returns a result per request, in the order of the requests.
 */
export async function changeInOrder<Request extends CloseRequest, Row extends Answer>(
  deps: ChangeDeps,
  requests: readonly Request[],
  change: (sorted: readonly Request[]) => Promise<Row[]>,
): Promise<{ results: ChangeResult[]; row: Row }> {
  const order = [...requests.keys()].sort((a, b) =>
    requests[a]!.messageId < requests[b]!.messageId ? -1 : 1,
  );
  const sorted = order.map((index) => requests[index]!);
  const rows = await withPartitions(deps.pool, () => repeatDeadlocked(() => change(sorted)));
  const row = rows[0]!;
  if (row.freed_mailbox_ids !== null) deps.onMessagesReady(row.freed_mailbox_ids.filter((id) => id !== null));
  const results: ChangeResult[] = [];
  order.forEach((index, at) => {
    const result = resultsByLetter[row.codes![at]!]!;
    results[index] = result;
    if (result !== "unauthorized") deps.onKeyUsed(requests[index]!.key);
  });
  return { results, row };
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
