import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { BillingStatus, Tables } from "../postgres/tables.ts";

/** An organization with its present billing state: `suspended` once a grace period has lapsed. */
export type Organization = Tables["organizations"];

export interface NewOrganization {
  name: string;
  billingStatus: Exclude<BillingStatus, "grace">;
  /** Reason for the billing state, for its history. */
  cause: string;
  nowMs: number;
}

/**
 * Creates an organization, in the caller's transaction. Its slug always consists of its name and the random end of its id: a
 * suffix that is added only on conflict would reveal which names are taken.
 */
export async function createOrganization(
  client: pg.ClientBase,
  { name, billingStatus, cause, nowMs }: NewOrganization,
): Promise<Organization> {
  const id = newRootId(nowMs);
  const createdAt = Math.floor(nowMs / 1000);
  const { rows } = await client.query<Organization>({
    name: "create_organization",
    text: `insert into organizations (id, name, slug, billing_status, created_at)
           values ($1, $2, $3, $4, $5)
           returning id, name, slug, billing_status, billing_grace_ends_at, secrets_can_be_revealed, created_at`,
    values: [id, name, slugOf(name, id), billingStatus, createdAt],
  });
  await client.query(
    "insert into billing_state_changes (org_id, to_status, cause, changed_at) values ($1, $2, $3, $4)",
    [id, billingStatus, cause, createdAt],
  );
  return rows[0]!;
}

/** Reads an organization; undefined when there is none with this id. */
export async function readOrganization(
  queryable: pg.Pool | pg.ClientBase,
  orgId: string,
  lock: "" | "for no key update" = "",
): Promise<Organization | undefined> {
  const { rows } = await queryable.query<Organization>({
    name: lock === "" ? "read_organization" : "lock_organization",
    text: `select ${columns}
           from organizations o
           where o.id = $1
           ${lock}`,
    values: [orgId],
  });
  return rows[0];
}

/** Reads an organization and locks its row until the transaction ends. Rows that refer to it can still be created. */
export function lockOrganization(client: pg.ClientBase, orgId: string): Promise<Organization | undefined> {
  return readOrganization(client, orgId, "for no key update");
}

/**
 * Locks an organization as {@link lockOrganization} does, for a change that only admins may make in a session. Undefined when the
 * user is no longer an admin: the session was checked before the request's body, which may take half a minute to arrive. Users
 * lose the role under the same lock.
 */
export async function lockAsAdmin(
  client: pg.ClientBase,
  { orgId, actor }: Origin,
): Promise<Organization | undefined> {
  const organization = await lockOrganization(client, orgId);
  const { rowCount } = await client.query({
    name: "is_admin",
    text: `select
           from users
           where id = $1
             and org_id = $2
             and role = 'admin'`,
    values: [actor.kind === "user" ? actor.id : null, orgId],
  });
  return rowCount === 0 ? undefined : organization;
}

/** Counts an organization's rows of a table. To enforce a limit, call it with the organization's row locked. */
export async function countOfOrganization(
  client: pg.ClientBase,
  table: "users" | "api_keys" | "event_types",
  orgId: string,
): Promise<number> {
  const { rows } = await client.query<{ count: number }>({
    name: `count_${table}`,
    text: `select count(*) as count
           from ${table}
           where org_id = $1`,
    values: [orgId],
  });
  return rows[0]!.count;
}

/**
 * Changes those of an organization's fields that are given, each with an entry of its own in the audit log. A renamed
 * organization keeps its slug, which people may have noted elsewhere.
 * @returns `gone` when the organization has been deleted.
 */
export function changeOrganization(
  pool: pg.Pool,
  origin: Origin,
  { name, secretsCanBeRevealed }: { name: string | undefined; secretsCanBeRevealed: boolean | undefined },
): Promise<"changed" | "gone"> {
  const { orgId } = origin;
  return inTransaction(pool, async (client) => {
    const organization = await lockOrganization(client, orgId);
    if (organization === undefined) return "gone";
    const object = { kind: "organization", id: orgId, name: name ?? organization.name } as const;
    if (name !== undefined && name !== organization.name) {
      await client.query("update organizations set name = $2 where id = $1", [orgId, name]);
      await recordChange(client, origin, {
        action: "organization.renamed",
        object,
        before: { name: organization.name },
        after: { name },
      });
    }
    const before = organization.secrets_can_be_revealed;
    if (secretsCanBeRevealed === undefined || secretsCanBeRevealed === before) return "changed";
    await client.query("update organizations set secrets_can_be_revealed = $2 where id = $1", [
      orgId,
      secretsCanBeRevealed,
    ]);
    await recordChange(client, origin, {
      action: "organization.revealing_changed",
      object,
      before: { secrets_can_be_revealed: before },
      after: { secrets_can_be_revealed: secretsCanBeRevealed },
    });
    return "changed";
  });
}

/**
 * SQL for the billing state of a row `o` of `organizations`: `suspended` once a grace period has lapsed.
 * @param nowMs SQL expression for the present time, in Unix milliseconds.
 */
export function billingColumns(nowMs: string): string {
  const state = `billing_state(o.billing_status, o.billing_grace_ends_at, ${nowMs})`;
  return `${state} as billing_status,
    case when ${state} = 'grace' then o.billing_grace_ends_at end as billing_grace_ends_at`;
}

const columns = `o.id, o.name, o.slug, o.secrets_can_be_revealed, o.created_at,
  ${billingColumns("(extract(epoch from clock_timestamp()) * 1000)::bigint")}`;

const maxSlugWordCharacters = 40;

/**
 * `Café Zürich` and an id ending in `…4d5e6f7a8b` give `cafe-zurich-4d5e6f7a8b`; a name without Latin letters gives
 * `organization-…`.
 */
function slugOf(name: string, id: string): string {
  const words = name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, maxSlugWordCharacters)
    .replaceAll(/^-+|-+$/g, "");
  return `${words === "" ? "organization" : words}-${id.slice(-10)}`;
}
