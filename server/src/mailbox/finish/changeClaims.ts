import { int4Array } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { withPartitions } from "../../postgres/partitions.ts";
import { idsOf } from "../message/batchKeys.ts";
import type { ClaimDeps } from "../claim/claimMessages.ts";
import { type ChangeResult, namedClaims, orderById, readResults } from "./closeMessages.ts";

/** One claimed message whose holder needs it longer, or gives it back. */
export interface ClaimChange {
  key: string;
  messageId: string;
  /** Only a message of this mailbox; null means any. */
  mailboxId: string | null;
  claimToken: string;
  /** The new lease, from now on; null gives the message back. */
  leaseMs: number | null;
  /** How long a message that is given back stays unclaimable. */
  delayMs: number;
  /** Why it is given back; kept if the message becomes dead by it. */
  reason: string | null;
}

export interface ClaimChangeOutcome {
  result: ChangeResult;
  /** Unix milliseconds of the database's clock at which the new lease ends; null when it was given back. */
  leaseUntilMs: number | null;
}

type ChangeDeps = ClaimDeps & { onMessagesReady: (mailboxIds: string[]) => void };

/**
 * Extends or releases claims of many requests; gives an outcome per request, in order. A message that is named
 * twice is changed twice, in the order of the requests.
 */
export async function changeClaims(
  deps: ChangeDeps,
  requests: readonly ClaimChange[],
): Promise<ClaimChangeOutcome[]> {
  const outcomes: ClaimChangeOutcome[] = [];
  let left = requests.map((_request, index) => index);
  while (left.length > 0) {
    const seen = new Set<string>();
    const now: number[] = [];
    const later: number[] = [];
    for (const index of left) {
      const { messageId } = requests[index]!;
      (seen.has(messageId) ? later : now).push(index);
      seen.add(messageId);
    }
    const changed = await changeDistinct(
      deps,
      now.map((index) => requests[index]!),
      false,
    );
    now.forEach((index, at) => {
      outcomes[index] = changed[at]!;
    });
    left = later;
  }
  return outcomes;
}

/** Gives back messages whose claim nobody ever saw, as if it had not been made. */
export async function undoClaims(
  deps: ChangeDeps,
  key: string,
  messages: readonly { id: string; claimToken: string }[],
): Promise<void> {
  if (messages.length === 0) return;
  const changes = messages.map(({ id, claimToken }) => ({
    key,
    messageId: id,
    mailboxId: null,
    claimToken,
    leaseMs: null,
    delayMs: 0,
    reason: null,
  }));
  await changeDistinct(deps, changes, true);
}

async function changeDistinct(
  deps: ChangeDeps,
  requests: readonly ClaimChange[],
  isUnclaimed: boolean,
): Promise<ClaimChangeOutcome[]> {
  const order = orderById(requests);
  const sorted = order.map((index) => requests[index]!);
  const rows = await withPartitions(deps.pool, () =>
    callFunction(deps.pool, "change_claims", {
      ...namedClaims(deps, sorted),
      // −1 stands for null, which these arrays do not carry.
      p_leases_ms: int4Array(sorted.map((request) => request.leaseMs ?? -1)),
      p_delays_ms: int4Array(sorted.map((request) => request.delayMs)),
      p_unclaimed: isUnclaimed,
    }),
  );
  const { codes, freed_mailbox_ids: freed, now_ms: nowMs } = rows[0]!;
  if (freed !== null) deps.onMessagesReady(idsOf(freed));
  const results = readResults(codes!);
  const outcomes: ClaimChangeOutcome[] = [];
  order.forEach((index, at) => {
    const { key, leaseMs } = requests[index]!;
    const result = results[at]!;
    if (result !== "unauthorized") deps.onKeyUsed(key);
    outcomes[index] = {
      result,
      leaseUntilMs: leaseMs === null ? null : nowMs! + leaseMs,
    };
  });
  return outcomes;
}
