import { type RawBuilder, sql } from "kysely";
import type pg from "pg";
import type { Static } from "typebox";
import type { Caller } from "../http/contract/credentials.ts";
import { newestFirst, type NewestFirst } from "../postgres/newestFirst.ts";
import { inTransactionOf, type Queries } from "../postgres/tables.ts";
import type { Filter, ReplaySet } from "./replayFilter.ts";
import type { ReplayJob } from "./schemas.ts";
import { randomInt } from "node:crypto";

export type StoredReplay = Static<typeof ReplayJob>;

/** A job as its workers need it. */
interface Job extends ReplaySet {
  id: string;
  ratePerSecond: number;
  createdAtMs: number;
  /** Number of events in the set; null until they are counted. */
  total: number | null;
}

export interface ReplayToStore extends Job {
  targetIds: readonly string[];
  /** Whether its events get a new webhook-id. */
  isNewWebhookId: boolean;
}

/** Maximum number of running jobs of one organization. */
export const maxRunning = 5;

const columns = `
  r.id,
  r.status,
  r.filter,
  r.include_replayed,
  r.rate_per_second,
  r.total,
  r.replayed,
  r.delivered,
  r.failed,
  r.skipped_waiting + r.skipped_no_target + r.skipped_mailbox_disabled + r.skipped_expired as skipped,
  json_build_object(
    'still_waiting', r.skipped_waiting,
    'target_deleted', r.skipped_no_target,
    'mailbox_disabled', r.skipped_mailbox_disabled,
    'expired', r.skipped_expired
  ) as skipped_reasons,
  r.created_by,
  r.created_at / 1000 as created_at,
  r.finished_at / 1000 as finished_at
`;

/**
 * Stores a job, due at once; a job without targets is already done. Undefined if {@link maxRunning} jobs of the organization are
 * running.
 */
export async function insertReplay(
  queries: Queries,
  caller: Caller,
  replay: ReplayToStore,
): Promise<StoredReplay | undefined> {
  return inTransactionOf(queries, async (transaction) => {
    // Serializes the creation of jobs in one organization, so that the count cannot be exceeded.
    await sql`select from organizations where id = ${caller.orgId} for no key update`.execute(transaction);
    const running = await sql<{ count: number }>`
      select count(*) as count
      from replays
      where org_id = ${caller.orgId}
        and status = 'RUNNING'
    `.execute(transaction);
    if (running.rows[0]!.count >= maxRunning) return undefined;
    const isEmpty = replay.targetIds.length === 0;
    await sql`
      insert into replays (
        id, org_id, status, filter, rate_per_second, created_by, created_at, finished_at, until_id, total, due_at,
        new_webhook_id, include_replayed
      )
      values (
        ${replay.id}, ${caller.orgId}, ${isEmpty ? "DONE" : "RUNNING"}, ${JSON.stringify(replay.filter)}::jsonb,
        ${replay.ratePerSecond}, ${await nameOf(transaction, caller)}, ${replay.createdAtMs}, ${isEmpty ? replay.createdAtMs : null},
        ${replay.until}, ${replay.total}, ${replay.createdAtMs}, ${replay.isNewWebhookId}, ${replay.includeReplayed}
      )
    `.execute(transaction);
    await sql`
      insert into replay_parts (replay_id, target_id, is_counted)
      select ${replay.id}::uuid, t.id, ${replay.total !== null}
      from unnest(${replay.targetIds}::uuid[]) as t (id)
    `.execute(transaction);
    return readReplay(transaction, caller.orgId, replay.id);
  });
}

async function nameOf(queries: Queries, caller: Caller): Promise<string> {
  const { rows } = await namedBy(caller).execute(queries);
  return rows[0]?.name ?? "a user who is gone";
}

function namedBy(caller: Caller): RawBuilder<{ name: string }> {
  switch (caller.kind) {
    case "session":
      return sql`select u.email as name from users u where u.id = ${caller.userId}`;
    case "apiKey":
      return sql`select k.name || ' (' || k.prefix || '…)' as name from api_keys k where k.id = ${caller.keyId}`;
    case "portal":
      return sql`select c.uid as name from customers c where c.id = ${caller.customerId}`;
  }
}

/** The organization's jobs, newest first. */
export function listReplays(pool: pg.Pool, orgId: string, page: NewestFirst): Promise<StoredReplay[]> {
  const select = `select ${columns} from replays r`;
  return newestFirst(pool, { name: "list_replays", select }, orgId, page);
}

/** Undefined if the organization has no such job. */
export async function readReplay(
  queries: Queries,
  orgId: string,
  id: string,
): Promise<StoredReplay | undefined> {
  const { rows } = await sql<StoredReplay>`
    select ${sql.raw(columns)}
    from replays r
    where r.id = ${id}
      and r.org_id = ${orgId}
  `.execute(queries);
  return rows[0];
}

/**
 * Cancels a job unless it is done. The process that works on it loses its lease; the events that it has created are delivered.
 * @returns the current job; undefined if the organization has no such job.
 */
export async function cancelReplay(
  queries: Queries,
  orgId: string,
  id: string,
): Promise<StoredReplay | undefined> {
  await sql`
    with canceled as (
      update replays r
      set status = 'CANCELED',
        finished_at = (extract(epoch from statement_timestamp()) * 1000)::bigint,
        lease_until = null,
        lease_token = null
      where r.id = ${id}
        and r.org_id = ${orgId}
        and r.status = 'RUNNING'
      returning r.id
    )
    delete from replay_parts p
    using canceled
    where p.replay_id = canceled.id
  `.execute(queries);
  return readReplay(queries, orgId, id);
}

/** The targets of a job; undefined if the organization has no target with the filter's id. */
export async function targetsOf(
  queries: Queries,
  orgId: string,
  { target_id: id }: Filter,
): Promise<string[] | undefined> {
  const { rows } = await sql<{ id: string }>`
    select t.id
    from targets t
    where t.org_id = ${orgId}
      ${id === undefined ? sql`` : sql`and t.id = ${id}`}
    order by t.id
  `.execute(queries);
  return id !== undefined && rows.length === 0 ? undefined : rows.map((row) => row.id);
}

/** A job for which this node may create one batch, with the next target in turn. */
export interface ClaimedReplay extends Job {
  orgId: string;
  /** The fencing token of the lease. */
  leaseToken: number;
  targetId: string;
  cursor: string;
}

/** How long after a node's last sign of life another node takes over its job. */
const leaseMs = 15_000;

/**
 * Leases the job that has been due longest of the next organization after `afterOrgId`, round robin; undefined if none is due.
 */
export async function claimReplay(queries: Queries, afterOrgId: string): Promise<ClaimedReplay | undefined> {
  const leaseToken = randomInt(1, 2 ** 47);
  const { rows } = await sql<ClaimedReplay>`
    with clock as materialized (
      select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms
    ),
    due as (
      select r.id
      from replays r
      where r.status = 'RUNNING'
        and r.due_at <= (select ms from clock)
        and (r.lease_until is null or r.lease_until < (select ms from clock))
      order by r.org_id <= ${afterOrgId}, r.org_id, r.due_at
      limit 1
      for update skip locked
    ),
    leased as (
      update replays r
      set lease_until = clock.ms + ${leaseMs}::integer,
        lease_token = ${leaseToken}::bigint
      from due, clock
      where r.id = due.id
      returning r.*
    )
    select
      l.id,
      l.org_id as "orgId",
      l.filter,
      l.include_replayed as "includeReplayed",
      l.rate_per_second as "ratePerSecond",
      l.created_at as "createdAtMs",
      l.until_id as "until",
      l.total,
      l.lease_token as "leaseToken",
      p.target_id as "targetId",
      p.cursor_id as "cursor"
    from leased l
    cross join lateral (
      select p.target_id, p.cursor_id
      from replay_parts p
      where p.replay_id = l.id
        and not p.is_done
      order by p.due_at, p.target_id
      limit 1
    ) p
  `.execute(queries);
  return rows[0];
}

/**
 * Works on a claimed job and renews its lease meanwhile, because a page that no index covers may take longer to find than the
 * lease lasts. Without renewal, two nodes could take over each other's job again and again, and no batch would ever be stored.
 */
export async function whileLeased<T>(
  queries: Queries,
  { id, leaseToken }: Pick<ClaimedReplay, "id" | "leaseToken">,
  work: () => Promise<T>,
  everyMs = leaseMs / 3,
): Promise<T> {
  const renew = sql`
    update replays r
    set lease_until = (extract(epoch from now()) * 1000)::bigint + ${leaseMs}::integer
    where r.id = ${id}
      and r.lease_token = ${leaseToken}::bigint
  `;
  const timer = setInterval(() => {
    // A lease that could not be renewed may pass to another node; then the batch of this node stores nothing.
    renew.execute(queries).catch(() => undefined);
  }, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Milliseconds until a job may be due; undefined if none is running. */
export async function nextDueInMs(queries: Queries): Promise<number | undefined> {
  const { rows } = await sql<{ ms: number | null }>`
    select min(greatest(r.due_at, coalesce(r.lease_until, 0)))
      - (extract(epoch from clock_timestamp()) * 1000)::bigint as ms
    from replays r
    where r.status = 'RUNNING'
  `.execute(queries);
  const ms = rows[0]!.ms;
  return ms === null ? undefined : Math.max(0, ms);
}
