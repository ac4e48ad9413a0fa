import type pg from "pg";
import { int4Array, uuidArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { numberKeys } from "../message/batchKeys.ts";
import type { ClaimDeps } from "./claimMessages.ts";
import { newClaimToken } from "./claimTokens.ts";
import type { ClaimedMessage } from "../message/message.ts";

/** One request for a message that it names. */
export interface NamedClaimRequest {
  key: string;
  messageId: string;
  leaseMs: number;
}

/** Why a named message was not claimed, as `claim_named_messages` codes it; `b` is worth asking again at once. */
export type NamedClaimRefusal = "h" | "a" | "d" | "x" | "o" | "u" | "n" | "b";

export type NamedClaimOutcome =
  | { kind: "claimed"; message: ClaimedMessage }
  | { kind: "refused"; code: NamedClaimRefusal };

interface NamedClaimRow extends pg.QueryResultRow {
  request: number;
  code: "c" | NamedClaimRefusal;
  key_id: string | null;
  mailbox_id: string;
  claim_count: number;
  lease_until: number;
  ordering_key: string | null;
  event_type: string | null;
  correlation_id: string | null;
  payload: string;
}

/** Claims named messages for many requests in one transaction; gives an outcome per request, in order. */
export async function claimNamedMessages(
  deps: ClaimDeps,
  requests: readonly NamedClaimRequest[],
): Promise<NamedClaimOutcome[]> {
  const { keyHashes, keyNumbers } = numberKeys(requests);
  const tokens = requests.map(newClaimToken);
  const rows = await callFunction<NamedClaimRow>(deps.pool, {
    name: "claim_named_messages",
    text: "select * from claim_named_messages($1, $2, $3, $4, $5, $6)",
    values: [
      deps.retentionMs,
      keyHashes,
      keyNumbers,
      uuidArray(requests.map((request) => request.messageId)),
      uuidArray(tokens),
      int4Array(requests.map((request) => request.leaseMs)),
    ],
  });
  const outcomes: NamedClaimOutcome[] = [];
  for (const row of rows) {
    const index = row.request - 1;
    if (row.code !== "u") deps.onKeyUsed(requests[index]!.key);
    outcomes[index] =
      row.code === "c"
        ? { kind: "claimed", message: readMessage(row, requests[index]!.messageId, tokens[index]!) }
        : { kind: "refused", code: row.code };
  }
  return outcomes;
}

function readMessage(row: NamedClaimRow, id: string, claimToken: string): ClaimedMessage {
  return {
    id,
    mailboxId: row.mailbox_id,
    claimedBy: row.key_id!,
    claimToken,
    claimCount: row.claim_count,
    leaseUntilMs: row.lease_until,
    orderingKey: row.ordering_key,
    eventType: row.event_type,
    correlationId: row.correlation_id,
    payload: row.payload,
  };
}
