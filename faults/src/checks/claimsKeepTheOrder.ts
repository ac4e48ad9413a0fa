import type { Check } from "./check.ts";

/** A claim lists messages as they were accepted: one that was sent after another was acknowledged comes after it. */
export const claimsKeepTheOrder: Check = ({ calls }) => {
  const sent = new Map<string, { firstAskedAtMs: number; acknowledgedAtMs: number }>();
  const firstAskedAtMs = new Map<number, number>();
  for (const { operation, outcome, output, startedAtMs, endedAtMs } of calls) {
    if (operation.op !== "send") continue;
    if (!firstAskedAtMs.has(operation.number)) firstAskedAtMs.set(operation.number, startedAtMs);
    // An item with a key may have been stored by an earlier request whose answer was lost.
    if (outcome !== "ok" || sent.has(output.id!)) continue;
    const first = firstAskedAtMs.get(operation.number)!;
    sent.set(output.id!, { firstAskedAtMs: first, acknowledgedAtMs: endedAtMs });
  }
  return calls.flatMap(({ output: { claims = [] } }) =>
    claims.slice(1).flatMap(({ id }, index) => {
      const before = claims[index]!.id;
      const [earlier, later] = [sent.get(before), sent.get(id)];
      return earlier !== undefined && later !== undefined && later.acknowledgedAtMs < earlier.firstAskedAtMs
        ? [`a claim lists ${before} before ${id}, which was acknowledged before the other was sent`]
        : [];
    }),
  );
};
