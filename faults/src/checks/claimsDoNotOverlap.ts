import { type Call as MailboxCall, violations } from "../../../server/test/support/mailboxHistory.ts";
import type { History } from "../history/history.ts";
import type { Check } from "./check.ts";

/**
 * Promise 4: claims on one message never overlap, a stale holder changes nothing, messages of one ordering key are
 * claimed one after another, and an acknowledged message stays acknowledged. Uses only the recorded calls.
 */
export function claimsDoNotOverlap(leaseMs: number): Check {
  return (history) => violations(mailboxCalls(history), leaseMs);
}

function mailboxCalls({ calls }: History): MailboxCall[] {
  const sentBefore = new Set<string>();
  const mailboxIds = new Set(
    calls.flatMap(({ operation }) => (operation.op === "claim" ? [operation.mailboxId] : [])),
  );
  const firstAskedAtMs = new Map<number, number>();
  return calls.flatMap((call): MailboxCall[] => {
    const { operation, outcome, output, startedAtMs, endedAtMs } = call;
    const times = { startedAtMs, endedAtMs };
    switch (operation.op) {
      case "send": {
        if (!firstAskedAtMs.has(operation.number)) firstAskedAtMs.set(operation.number, startedAtMs);
        // An item with an idempotency key may have been stored by an earlier request whose answer was lost.
        if (outcome !== "ok" || !mailboxIds.has(operation.targetId) || sentBefore.has(output.id!)) return [];
        sentBefore.add(output.id!);
        const sent = { startedAtMs: firstAskedAtMs.get(operation.number)!, endedAtMs };
        return [{ kind: "send", id: output.id!, orderingKey: operation.orderingKey, ...sent }];
      }
      case "claim":
        return [{ kind: "claim", claims: outcome === "ok" ? output.claims! : null, ...times }];
      case "ack":
      case "reject":
      case "release":
      case "extend": {
        const status = outcome === "ok" ? output.messageStatus! : outcome === "fail" ? call.status : null;
        return [{ kind: operation.op, id: operation.id, token: operation.token, status, ...times }];
      }
      case "read":
        return [{ kind: "read", id: operation.id, state: output.state ?? "unknown", ...times }];
      case "change":
      case "publish":
      case "replay":
        return [];
    }
  });
}
