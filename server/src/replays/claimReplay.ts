import { randomInt } from "node:crypto";
import { sql } from "kysely";
import type { Queries } from "../postgres/tables.ts";
import type { Filter } from "./replayFilter.ts";

/** A job that this node may make one batch of, at the target whose turn it is. */
export interface ClaimedReplay {
  id: string;
  orgId: string;
  filter: Filter;
  includeReplayed: boolean;
  ratePerSecond: number;
  createdAtMs: number;
  until: string;
  total: number | null;
  /** The fencing token of the lease. */
  leaseToken: number;
  targetId: string;
  /** The last event that was looked at. */
  cursor: string;
}

/** How long a batch may take before another node takes the job over. */
const leaseMs = 15_000;

/** Leases the job that has been due the longest, of any organization; undefined when none is due. */
export async function claimReplay(queries: Queries): Promise<ClaimedReplay | undefined> {
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
      order by r.due_at
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

/** In how many milliseconds a job may be due; undefined when none is running. */
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
