import type { Call, History } from "../history/history.ts";
import type { Check } from "./check.ts";

/**
 * A claim lists messages in the order of their acceptance. Two kinds of messages are not compared: those with an
 * ordering key, which become ready when their predecessor ends, and those that another consumer held, which a
 * claim may skip.
 */
export const claimsKeepTheOrder: Check = ({ calls }) => {
  const sent = sendsWithoutKey(calls);
  const claims = calls
    .filter(({ operation }) => operation.op === "claim")
    .toSorted((a, b) => a.endedAtMs - b.endedAtMs);
  const held = new Set<string>();
  const found: string[] = [];
  for (const claim of claims) {
    const ids = (claim.output.claims ?? []).map(({ id }) => id);
    const isAlone = claims.every(
      (other) => other === claim || other.outcome === "ok" || !overlap(claim, other),
    );
    const fresh = ids.filter((id) => isAlone && sent.has(id) && !held.has(id));
    for (const [index, id] of fresh.slice(1).entries()) {
      const before = fresh[index]!;
      if (sent.get(id)!.acknowledgedAtMs < sent.get(before)!.askedAtMs)
        found.push(`a claim lists ${before} before ${id}, which was acknowledged before the other was sent`);
    }
    for (const id of ids) held.add(id);
  }
  return found;
};

/**
 * For each message without an ordering key, the time of its first request and of its first answer. An earlier
 * request may have stored the message.
 */
function sendsWithoutKey(
  calls: History["calls"],
): Map<string, { askedAtMs: number; acknowledgedAtMs: number }> {
  const sent = new Map<string, { askedAtMs: number; acknowledgedAtMs: number }>();
  const firstAskedAtMs = new Map<number, number>();
  for (const { operation, outcome, output, startedAtMs, endedAtMs } of calls) {
    if (operation.op !== "send" || operation.orderingKey !== null) continue;
    if (!firstAskedAtMs.has(operation.number)) firstAskedAtMs.set(operation.number, startedAtMs);
    if (outcome !== "ok" || sent.has(output.id!)) continue;
    sent.set(output.id!, { askedAtMs: firstAskedAtMs.get(operation.number)!, acknowledgedAtMs: endedAtMs });
  }
  return sent;
}

function overlap(one: Call, other: Call): boolean {
  return one.startedAtMs < other.endedAtMs && other.startedAtMs < one.endedAtMs;
}
