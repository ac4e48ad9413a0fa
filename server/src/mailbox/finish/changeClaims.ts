import { int4Array } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
import { type ChangeDeps, changeInOrder, type ChangeResult, namedClaims } from "./closeMessages.ts";

/** A request to extend or release the claim of one message. */
export interface ClaimChange {
  key: string;
  messageId: string;
  /** The mailbox that must have the message; null for any. */
  mailboxId: string | null;
  claimToken: string;
  /** The new lease, from now on; null releases the message. */
  leaseMs: number | null;
  /** How long a released message stays unclaimable. */
  delayMs: number;
  /** Why the message is released; stored if the release makes the message dead. */
  reason: string | null;
}

export interface ClaimChangeOutcome {
  result: ChangeResult;
  /** Unix milliseconds of the database's clock at which the new lease ends; null for a released message. */
  leaseUntilMs: number | null;
}

/**
 * Extends or releases claims for many requests. Returns an outcome per request, in order. A message that is named twice is
 * changed twice, in the order of the requests.
 */
export async function changeClaims(
  deps: ChangeDeps,
  requests: readonly ClaimChange[],
): Promise<ClaimChangeOutcome[]> {
  const times = new Map<string, number>();
  const rounds = Map.groupBy(requests.keys(), (index) => {
    const { messageId } = requests[index]!;
    const round = times.get(messageId) ?? 0;
    times.set(messageId, round + 1);
    return round;
  });
  const outcomes: ClaimChangeOutcome[] = [];
  for (const round of rounds.values()) {
    const distinct = round.map((index) => requests[index]!);
    const changed = await changeDistinct(deps, distinct, false);
    round.forEach((index, at) => (outcomes[index] = changed[at]!));
  }
  return outcomes;
}

/** Releases messages whose claim never reached the client, as if it had not been made. */
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
  const { results, row } = await changeInOrder(deps, requests, (sorted) =>
    callFunction(deps.pool, "change_claims", {
      ...namedClaims(deps, sorted),
      // −1 means null, because these arrays cannot contain null.
      p_leases_ms: int4Array(sorted.map((request) => request.leaseMs ?? -1)),
      p_delays_ms: int4Array(sorted.map((request) => request.delayMs)),
      p_unclaimed: isUnclaimed,
    }),
  );
  return results.map((result, index) => {
    const { leaseMs } = requests[index]!;
    return { result, leaseUntilMs: leaseMs === null ? null : row.now_ms! + leaseMs };
  });
}
