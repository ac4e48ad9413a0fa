import { textArray, uuidArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { idsOf, numberKeys } from "../message/batchKeys.ts";
import type { ClaimDeps } from "../claim/claimMessages.ts";

/** One message that its holder acknowledges, or rejects with a reason. */
export interface EndRequest {
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
 * How a change of a claimed message ended: done, done before, unauthorized, forbidden (another key's claim),
 * stale (no active claim, or another token), expired, not found.
 */
export type ChangeCode = "k" | "r" | "u" | "f" | "s" | "x" | "n";

interface AckRow {
  codes: string;
  freed_mailbox_ids: string[] | null;
}

/** Ends messages of many requests in one transaction; gives a code per request, in order. */
export async function endMessages(
  deps: ClaimDeps & { onMessagesReady: (mailboxIds: string[]) => void },
  requests: readonly EndRequest[],
): Promise<ChangeCode[]> {
  const order = orderById(requests);
  const sorted = order.map((index) => requests[index]!);
  const { keyHashes, keyNumbers } = numberKeys(sorted);
  const rows = await callFunction<AckRow>(deps.pool, {
    name: "ack_messages",
    text: "select * from ack_messages($1, $2, $3, $4, $5, $6, $7)",
    values: [
      deps.retentionMs,
      keyHashes,
      keyNumbers,
      uuidArray(sorted.map((request) => request.messageId)),
      uuidArray(sorted.map((request) => request.mailboxId)),
      uuidArray(sorted.map((request) => request.claimToken)),
      textArray(sorted.map((request) => request.reason)),
    ],
  });
  const { codes, freed_mailbox_ids: freed } = rows[0]!;
  if (freed !== null) deps.onMessagesReady(idsOf(freed));
  const result: ChangeCode[] = [];
  order.forEach((index, place) => {
    result[index] = codes[place] as ChangeCode;
    if (result[index] !== "u") deps.onKeyUsed(requests[index]!.key);
  });
  return result;
}

/** The places of requests in the order of their messages' ids, which all transactions that lock messages share. */
export function orderById(requests: readonly { messageId: string }[]): number[] {
  return requests
    .map((_request, index) => index)
    .sort((a, b) => (requests[a]!.messageId < requests[b]!.messageId ? -1 : 1));
}
