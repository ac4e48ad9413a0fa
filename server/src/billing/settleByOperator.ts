import type pg from "pg";
import { recordChange } from "../audit/recordChange.ts";
import { inTransaction } from "../postgres/pool.ts";
import { renewBatch, settleIn } from "./meterBatches.ts";

/**
 * Ends by an operator's word what could not be settled by asking the processor: the batch is there, or is to be sent again.
 * @returns false when there is no unsettled batch of this name. @throws {Error} when another batch of the customer is
 * under way.
 */
export function settleByOperator(
  pool: pg.Pool,
  input: { identifier: string; outcome: "exported" | "resend"; operator: string; nowSeconds: number },
): Promise<boolean> {
  const { identifier, outcome, operator, nowSeconds } = input;
  return inTransaction(pool, async (client) => {
    const isDone =
      outcome === "exported"
        ? await settleIn(client, identifier, "operator", nowSeconds)
        : await resend(client, identifier, nowSeconds);
    if (!isDone) return false;
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
    return true;
  });
}

async function resend(client: pg.ClientBase, identifier: string, nowSeconds: number): Promise<boolean> {
  try {
    return await renewBatch(client, identifier, nowSeconds);
  } catch (error) {
    if ((error as { code?: string }).code !== "23505") throw error;
    throw new Error("another batch of the same customer is under way: try again when it is settled", {
      cause: error,
    });
  }
}
