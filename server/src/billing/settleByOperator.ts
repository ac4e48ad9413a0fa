import type pg from "pg";
import { recordChange } from "../audit/recordChange.ts";
import { inTransaction } from "../postgres/pool.ts";
import { renewBatch, settleBatch } from "./meterBatches.ts";

export type SettleOutcome =
  | "settled"
  /** There is no unsettled batch with this identifier. */
  | "not_found"
  /** Another batch of the customer is open; only one may be. */
  | "another_open";

/**
 * Settles, for an operator, a batch for which it is unknown whether the processor has stored it: the batch counts as
 * exported, or is sent again.
 */
export function settleByOperator(
  pool: pg.Pool,
  input: { identifier: string; outcome: "exported" | "resend"; operator: string; nowSeconds: number },
): Promise<SettleOutcome> {
  const { identifier, outcome, operator, nowSeconds } = input;
  return inTransaction(pool, async (client) => {
    const settled =
      outcome === "exported"
        ? await settleBatch(client, identifier, "operator", nowSeconds)
        : await resend(client, identifier, nowSeconds);
    if (settled === "another_open") return settled;
    if (!settled) return "not_found";
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
    return "settled";
  });
}

async function resend(
  client: pg.ClientBase,
  identifier: string,
  nowSeconds: number,
): Promise<boolean | "another_open"> {
  await client.query("savepoint batch");
  try {
    return await renewBatch(client, identifier, nowSeconds);
  } catch (error) {
    // A unique index allows one open batch per customer.
    if ((error as { code?: string }).code !== "23505") throw error;
    await client.query("rollback to savepoint batch");
    return "another_open";
  }
}
