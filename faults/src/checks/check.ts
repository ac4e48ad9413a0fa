import type { Facts } from "../facts/facts.ts";
import type { History } from "../history/history.ts";

/** Compares the clients' observations with the stored data, and returns each violation of a promise as a sentence. */
export type Check = (history: History, facts: Facts) => string[];

export type SendCall = ReturnType<typeof itemCalls>[number];

/** Returns requests that create items, directly or as publications. */
export function itemCalls(history: History) {
  return history.calls.flatMap((call) =>
    call.operation.op === "send" || call.operation.op === "publish"
      ? [{ ...call, operation: call.operation }]
      : [],
  );
}

/** Ids of the items that the service's answer said were accepted. */
export function acknowledgedIds(call: SendCall): string[] {
  if (call.outcome !== "ok") return [];
  return call.operation.op === "publish" ? call.output.itemIds! : [call.output.id!];
}
