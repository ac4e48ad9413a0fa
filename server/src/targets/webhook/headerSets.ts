import { sql } from "kysely";
import type pg from "pg";
import { bucketOf } from "../../postgres/ids.ts";
import type { Queries, TargetRow } from "../../postgres/tables.ts";
import {
  hasSecretHeaders,
  headersAnswer,
  type HeadersInput,
  sealHeaders,
  shownHeaders,
} from "../record/headers.ts";
import type { SecretBox } from "../../items/secretBox.ts";
import type { Refused } from "../record/refusal.ts";
import type { Beside, Decision, StoredTarget } from "../record/store.ts";

type HeaderSet = Pick<TargetRow, "id" | "headers" | "header_set">;

/** Stores the headers in the form that attempts show, in the transaction that changes the target's headers. */
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

/** Marks the target's present header set as replaced, because the target gets other headers or is deleted. */
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

/** The headers that attempts at a target carried, by set number. */
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

/** Added to the retention: one day because attempts are kept until the end of their day, and one day as a reserve. */
const marginSeconds = 2 * 86_400;

/** Deletes header sets whose attempts are past retention. @returns how many. */
export async function sweepHeaderSets(
  pool: pg.Pool,
  { retentionDays, nowMs }: { retentionDays: number; nowMs: number },
): Promise<number> {
  const { rowCount } = await pool.query("delete from target_header_sets where replaced_at < $1", [
    Math.floor(nowMs / 1000) - retentionDays * 86_400 - marginSeconds,
  ]);
  return rowCount ?? 0;
}

interface HeadersChange {
  url?: string | undefined;
  /** Null removes all headers. */
  headers?: HeadersInput | null | undefined;
}

/**
 * Decides on a change of headers after the target is locked, so that two concurrent requests cannot send a secret to an origin
 * for which it was not given.
 */
export function decideHeaders(
  { box, nowSeconds }: { box: SecretBox; nowSeconds: number },
  present: StoredTarget,
  { url, headers }: HeadersChange,
): Decision | Refused {
  const isElsewhere = isOtherOrigin(present, url);
  const refused = refuseOtherOrigin(present, { url, headers });
  if (refused !== undefined) return refused;
  if (headers === undefined) return { ok: true };
  const kept = isElsewhere ? null : present.headers;
  const sealed = sealHeaders({ box, targetId: present.id, present: kept }, headers ?? {});
  if (!sealed.ok) return sealed;
  return {
    ok: true,
    columns: {
      headers: sealed.stored,
      header_set: sealed.stored === null ? null : (sql`version + 1` as never),
    },
    beside: namesOf(present.headers, sealed.stored),
    async save(transaction: Queries, target) {
      await endHeaderSet(transaction, target.id, nowSeconds);
      await noteHeaderSet(transaction, target);
    },
  };
}

/** The names of the headers before and after the change, without values. */
function namesOf(before: string | null, after: string | null): Beside {
  const names = (stored: string | null): string[] => Object.keys(headersAnswer(stored));
  return { before: { headers: names(before) }, after: { headers: names(after) } };
}

/**
 * Refuses to move secret headers to another origin. They were given for the present origin, and a caller who may change the URL
 * may not read them. They have to be given again.
 */
export function refuseOtherOrigin(
  present: Pick<TargetRow, "url" | "headers">,
  { url, headers }: HeadersChange,
): Refused | undefined {
  if (headers !== undefined || !isOtherOrigin(present, url) || !hasSecretHeaders(present.headers)) {
    return undefined;
  }
  return { ok: false, refusal: { kind: "headers_needed", origin: originOf(present.url!) } };
}

function isOtherOrigin(present: Pick<TargetRow, "url">, url: string | undefined): boolean {
  return url !== undefined && present.url !== null && originOf(url) !== originOf(present.url);
}

function originOf(url: string): string {
  return new URL(url).origin;
}
