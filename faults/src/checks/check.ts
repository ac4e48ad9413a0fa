import type { Facts } from "../facts/facts.ts";
import type { History } from "../history/history.ts";

/** Compares what was seen with what is stored, and says what breaks a promise, one sentence each. */
export type Check = (history: History, facts: Facts) => string[];

export type SendCall = ReturnType<typeof itemCalls>[number];

/** Requests that make items, alone or as publications. */
export function itemCalls(history: History) {
  return history.calls.flatMap((call) =>
    call.operation.op === "send" || call.operation.op === "publish"
      ? [{ ...call, operation: call.operation }]
      : [],
  );
}

/** The items that the service said it had accepted, by the answer. */
export function acknowledgedIds(call: SendCall): string[] {
  if (call.outcome !== "ok") return [];
  return call.operation.op === "publish" ? call.output.itemIds! : [call.output.id!];
}
