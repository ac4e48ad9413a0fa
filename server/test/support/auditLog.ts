import type pg from "pg";
import { type Columns, rowsWhere } from "./rowsWhere.ts";
import type { Account, TestNode } from "./testNode.ts";

/** An entry of the audit log as the interface shows it. */
export interface Entry {
  id: string;
  at: number;
  action: string;
  actor: { kind: string; id: string | null; name: string | null };
  object: { kind: string; id: string | null; name: string | null };
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  client_address: string | null;
  user_agent: string | null;
  request_id: string | null;
}

type Caller = Pick<TestNode, "call">;

/** Reads an organization's audit log; `query` begins with `?`. */
export async function entries(
  node: Caller,
  account: Pick<Account, "api_key">,
  query: string = "",
): Promise<Entry[]> {
  const { status, body } = await node.call("GET", `/api/v1/audit-log${query}`, { key: account.api_key });
  if (status !== 200) throw new Error(`audit log: ${status} ${JSON.stringify(body)}`);
  return body.entries;
}

/**
 * Entries that belong to no organization, such as a login with an unknown address, with these columns; no route
 * shows them.
 */
export async function entriesOfNobody(pool: pg.Pool, columns: Columns): Promise<Record<string, unknown>[]> {
  const { condition, values } = rowsWhere(columns);
  const { rows } = await pool.query(
    `select object_id, object_name, before, after from audit_log where org_id is null and ${condition}`,
    values,
  );
  return rows;
}

/** Every entry of the audit log with all its fields, as text. */
export async function everyEntry(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ text: string }>("select to_jsonb(a)::text as text from audit_log a");
  return rows.map(({ text }) => text).join("\n");
}

/** Makes every further entry with this value fail, as a full disk would. */
export async function refuseEntries(
  pool: pg.Pool,
  column: { actor_name: string } | { org_id: string },
): Promise<void> {
  const [[name, value]] = Object.entries(column) as [[string, string]];
  await pool.query(
    `create or replace function public.refuse_entry() returns trigger language plpgsql as $$
     begin
       raise exception 'planted' using errcode = '53100';
     end $$;
     create or replace trigger "refuse_${value}" before insert on audit_log
       for each row when (new.${name} = '${value}') execute function public.refuse_entry()`,
  );
}

/** A URL that contains secrets. */
export const secretUrl = "https://127.0.0.1:9/services/T0KEN-IN-PATH?signature=TOKEN-IN-QUERY";

/** Creates a webhook target with that URL, and returns its id. */
export async function createSecretWebhook(node: Caller, account: Account): Promise<string> {
  const { status, body } = await node.call("POST", "/api/v1/targets", {
    key: account.api_key,
    body: { kind: "webhook", name: "w", url: secretUrl },
  });
  if (status !== 200) throw new Error(`target: ${status} ${JSON.stringify(body)}`);
  return body.id;
}
