import { sql } from "kysely";
import type pg from "pg";
import { bucketOf } from "../../postgres/ids.ts";
import type { Queries, TargetRow } from "../../postgres/tables.ts";
import { shownHeaders } from "../record/headers.ts";

/** The headers of a target that was just written. */
type HeaderSet = Pick<TargetRow, "id" | "headers" | "header_set">;

/** Keeps the headers as attempts show them, in the transaction that gave them to the target. */
export async function noteHeaderSet(
  transaction: Queries,
  { id, headers, header_set: number }: HeaderSet,
): Promise<void> {
  if (headers === null || number === null) return;
  await sql`
    insert into target_header_sets (bucket, target_id, number, headers)
    values (${bucketOf(id)}, ${id}, ${number}, ${shownHeaders(headers)})
  `.execute(transaction);
}

/** The target has other headers from now on, or is gone. */
export async function endHeaderSet(
  transaction: Queries,
  targetId: string,
  nowSeconds: number,
): Promise<void> {
  await sql`
    update target_header_sets
    set replaced_at = ${nowSeconds}
    where bucket = ${bucketOf(targetId)}
      and target_id = ${targetId}
      and replaced_at is null
  `.execute(transaction);
}

/** The headers that attempts at a target carried, by the numbers of their sets. */
export async function readHeaderSets(
  queries: Queries,
  targetId: string,
  numbers: readonly number[],
): Promise<Map<number, Record<string, string>>> {
  if (numbers.length === 0) return new Map();
  const { rows } = await sql<{ number: number; headers: string }>`
    select s.number, s.headers
    from target_header_sets s
    where s.bucket = ${bucketOf(targetId)}
      and s.target_id = ${targetId}
      and s.number = any (${numbers}::integer[])
  `.execute(queries);
  return new Map(rows.map(({ number, headers }) => [number, JSON.parse(headers) as Record<string, string>]));
}

/** A day longer than the attempts, whose days end at midnight. */
const marginSeconds = 2 * 86_400;

/** Forgets sets whose attempts are past retention. @returns how many. */
export async function sweepHeaderSets(
  pool: pg.Pool,
  { retentionDays, nowMs }: { retentionDays: number; nowMs: number },
): Promise<number> {
  const { rowCount } = await pool.query("delete from target_header_sets where replaced_at < $1", [
    Math.floor(nowMs / 1000) - retentionDays * 86_400 - marginSeconds,
  ]);
  return rowCount ?? 0;
}
