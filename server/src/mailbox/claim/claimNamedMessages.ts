import { int4Array, uuidArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import type { RowOf } from "../../postgres/hot/functionCall.ts";
import { numberKeys } from "../message/findMailbox.ts";
import { type ClaimDeps, newClaimToken } from "./claimMessages.ts";
import type { ClaimedMessage } from "../message/message.ts";

/** One request to claim a message by its id. */
export interface NamedClaimRequest {
  key: string;
  messageId: string;
  leaseMs: number;
}

/** Why a named message was not claimed, by the letter that claim_named_messages returns. */
const refusals = {
  h: "claimed",
  a: "acknowledged",
  d: "dead",
  x: "expired",
  e: "ended",
  o: "behind",
  u: "unauthorized",
  n: "not found",
  b: "busy",
} as const;

/** Ended: canceled or filtered. Behind: an earlier message of the same ordering key has not ended. Busy: another transaction has it locked; retry at once. */
export type NamedClaimRefusal = (typeof refusals)[keyof typeof refusals];

export type NamedClaimOutcome =
  | { kind: "claimed"; message: ClaimedMessage }
  | { kind: "refused"; refusal: NamedClaimRefusal };

/** Claims named messages for many requests in one transaction. Returns an outcome per request, in order. */
export async function claimNamedMessages(
  deps: ClaimDeps,
  requests: readonly NamedClaimRequest[],
): Promise<NamedClaimOutcome[]> {
  const { keyHashes, keyNumbers } = numberKeys(requests);
  const tokens = requests.map(newClaimToken);
  const rows = await callFunction(deps.pool, "claim_named_messages", {
    p_retention_ms: deps.retentionMs,
    p_key_hashes: keyHashes,
    p_keys: keyNumbers,
    p_ids: uuidArray(requests.map((request) => request.messageId)),
    p_claim_tokens: uuidArray(tokens),
    p_leases_ms: int4Array(requests.map((request) => request.leaseMs)),
  });
  const outcomes: NamedClaimOutcome[] = [];
  for (const row of rows) {
    const index = row.request! - 1;
    if (row.code !== "u") deps.onKeyUsed(requests[index]!.key);
    outcomes[index] =
      row.code === "c"
        ? { kind: "claimed", message: readMessage(row, requests[index]!.messageId, tokens[index]!) }
        : { kind: "refused", refusal: refusals[row.code as keyof typeof refusals] };
  }
  return outcomes;
}

function readMessage(row: RowOf<"claim_named_messages">, id: string, claimToken: string): ClaimedMessage {
  return {
    id,
    mailboxId: row.mailbox_id!,
    claimedBy: row.key_id!,
    claimToken,
    claimCount: row.claim_count!,
    leaseUntilMs: row.lease_until!,
    orderingKey: row.ordering_key,
    eventType: row.event_type,
    correlationId: row.correlation_id,
    traceContext: row.trace_context,
    payload: row.payload!,
  };
}
