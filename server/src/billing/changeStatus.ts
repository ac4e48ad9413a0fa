import type pg from "pg";
import type { BillingStatus } from "../postgres/tables.ts";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { inTransaction } from "../postgres/pool.ts";
import { graceSeconds, type StatusChange } from "./subscriptionState.ts";

/** An organization's stored billing state, and its present one. */
export interface LockedStatus {
  billing_status: BillingStatus;
  /** Unix seconds; set exactly while `billing_status` is `grace`. */
  billing_grace_ends_at: number | null;
  /** The present state: `suspended` after a lapsed grace period, even before that is stored. */
  state: BillingStatus;
}

export interface RecordedChange {
  from: BillingStatus;
  to: BillingStatus;
}

/** A change's organization, actor, cause and time. */
interface Occasion extends Origin {
  cause: string;
  nowSeconds: number;
}

/**
 * Sets an organization's billing state for an operator; a grace period starts now, even if one is running already.
 * @param pool the pool of the organization's cell, where its ledger is.
 * @returns undefined when there is no such organization.
 */
export function setStatus(
  pool: pg.Pool,
  { status, ...occasion }: Occasion & { status: BillingStatus },
): Promise<RecordedChange | undefined> {
  const { orgId, nowSeconds } = occasion;
  return inTransaction(pool, async (client) => {
    const stored = await lockStatus(client, orgId, nowSeconds);
    if (stored === undefined) return undefined;
    const from = stored.state;
    const change = { status, graceEndsAt: status === "grace" ? nowSeconds + graceSeconds : null };
    if (from !== status || status === "grace") await applyChange(client, stored, change, occasion);
    return { from, to: status };
  });
}

/** Reads an organization's billing state and locks its row; undefined when there is no such organization. */
export async function lockStatus(
  client: pg.PoolClient,
  orgId: string,
  nowSeconds: number,
): Promise<LockedStatus | undefined> {
  const { rows } = await client.query<LockedStatus>(
    `select
       billing_status,
       billing_grace_ends_at,
       billing_state(billing_status, billing_grace_ends_at, $2::bigint * 1000) as state
     from organizations
     where id = $1
     for no key update`,
    [orgId, nowSeconds],
  );
  return rows[0];
}

/**
 * Writes a state change of a locked organization with its audit entry; records the end of a lapsed grace period first.
 * @param client a connection to the organization's cell.
 */
export async function applyChange(
  client: pg.PoolClient,
  stored: LockedStatus,
  change: StatusChange,
  occasion: Occasion,
): Promise<void> {
  const { orgId } = occasion;
  const from = stored.state;
  if (from !== stored.billing_status) await recordGraceEnd(client, orgId, stored.billing_grace_ends_at!);
  if (stored.billing_status === "exempt") await waiveUnexported(client, orgId);
  await client.query(
    `update organizations
     set billing_status = $2,
       billing_grace_ends_at = $3
     where id = $1`,
    [orgId, change.status, change.graceEndsAt],
  );
  await record(client, { from, to: change.status }, occasion);
}

/** Adds a change to an organization's history of billing states, and to its audit log. */
async function record(
  client: pg.ClientBase,
  { from, to }: RecordedChange,
  { orgId, actor, cause, nowSeconds }: Occasion,
): Promise<void> {
  await client.query(
    `insert into billing_state_changes (org_id, from_status, to_status, cause, changed_at)
     values ($1, $2, $3, $4, $5)`,
    [orgId, from, to, cause, nowSeconds],
  );
  const origin = { orgId, actor };
  await recordChange(client, origin, {
    action: "billing.state_changed",
    object: { kind: "organization", id: orgId },
    before: { billing_status: from },
    after: { billing_status: to, cause },
  });
}

async function recordGraceEnd(client: pg.PoolClient, orgId: string, endedAt: number): Promise<void> {
  const actor = { kind: "service", name: "billing" } as const;
  const occasion = { orgId, actor, cause: "grace ended", nowSeconds: endedAt };
  await record(client, { from: "grace", to: "suspended" }, occasion);
}

/** Waives the items that an exempt organization has accepted, so that they are not exported when it stops being exempt. */
async function waiveUnexported(client: pg.PoolClient, orgId: string): Promise<void> {
  // One statement, because `foldUsage` moves records into the totals.
  const { rows } = await client.query<{ period: number; items: number }>(
    `select u.period, sum(u.items)::bigint as items
     from (
       select period, items from usage_totals where org_id = $1
       union all
       select period, items from usage_records where org_id = $1
     ) u
     group by u.period`,
    [orgId],
  );
  await client.query(
    `insert into meter_counters (org_id, period, waived)
     select $1::uuid, u.period, u.items
     from unnest($2::integer[], $3::bigint[]) as u (period, items)
     on conflict (org_id, period) do update
     set waived = greatest(excluded.waived - meter_counters.batched, meter_counters.waived)`,
    [orgId, rows.map(({ period }) => period), rows.map(({ items }) => items)],
  );
}

/**
 * Stores lapsed grace periods as `suspended`. Nothing depends on when this runs: a lapsed grace period reads as suspended.
 * @returns the number of suspended organizations.
 */
export function suspendLapsedGraces(pool: pg.Pool, nowSeconds: number): Promise<number> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: string; ended_at: number }>(
      `select id, billing_grace_ends_at as ended_at
       from organizations
       where billing_status = 'grace'
         and billing_grace_ends_at <= $1
       order by id
       limit $2
       for no key update skip locked`,
      [nowSeconds, lapsedPerRun],
    );
    await client.query(
      `update organizations
       set billing_status = 'suspended',
         billing_grace_ends_at = null
       where id = any ($1::uuid[])`,
      [rows.map(({ id }) => id)],
    );
    for (const { id, ended_at: endedAt } of rows) await recordGraceEnd(client, id, endedAt);
    return rows.length;
  });
}

const lapsedPerRun = 500;
