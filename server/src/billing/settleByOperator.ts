import type pg from "pg";
import { recordChange } from "../audit/recordChange.ts";
import { inTransaction } from "../postgres/pool.ts";
import { renewBatch, settleBatch } from "./meterBatches.ts";
import { CommandError } from "../runtime/commandError.ts";

/**
 * Settles by order of an operator a batch whose state the processor could not tell: it counts as exported, or is sent
 * again.
 * @throws {CommandError} when there is no unsettled batch of this name, or another one of its customer is open.
 */
export function settleByOperator(
  pool: pg.Pool,
  input: { identifier: string; outcome: "exported" | "resend"; operator: string; nowSeconds: number },
): Promise<void> {
  const { identifier, outcome, operator, nowSeconds } = input;
  return inTransaction(pool, async (client) => {
    const settled =
      outcome === "exported"
        ? await settleBatch(client, identifier, "operator", nowSeconds)
        : await resend(client, identifier, nowSeconds);
    if (!settled) throw new CommandError(`there is no unsettled batch ${identifier}`, "notFound");
    const { rows } = await client.query<{ org_id: string; value: number }>(
      `select org_id, value
       from meter_batches
       where identifier = $1`,
      [identifier],
    );
    const { org_id: orgId, value } = rows[0]!;
    await recordChange(
      client,
      { orgId, actor: { kind: "operator", name: operator } },
      {
        action: "billing.batch_settled",
        object: { kind: "batch", id: null, name: identifier },
        after: { outcome, items: value },
      },
    );
  });
}

async function resend(client: pg.ClientBase, identifier: string, nowSeconds: number): Promise<boolean> {
  try {
    return await renewBatch(client, identifier, nowSeconds);
  } catch (cause) {
    // A unique index allows one open batch per customer.
    if ((cause as { code?: string }).code !== "23505") throw cause;
    throw new CommandError(
      "another batch of the same customer is under way: try again when it is settled",
      "failed",
      { cause },
    );
  }
}
