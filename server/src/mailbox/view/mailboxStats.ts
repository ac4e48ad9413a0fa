import type { Static } from "typebox";
import { idTimeMs } from "../../postgres/ids.ts";
import type { MailboxMoment, ReadDeps } from "../message/findMailbox.ts";
import type { Stats } from "../message/schemas.ts";

export type MailboxStats = Static<typeof Stats>;

interface Bounds {
  /** The most claimed, released and blocked messages that are counted. Each costs a read of its row, often on its own page. */
  elsewhere: number;
  /** The most dead messages counted, by index-only reads. */
  dead: number;
}

/** Bounds for the statistics of one mailbox, which a user opens. */
export const statsBounds: Bounds = { elsewhere: 2_500, dead: 10_000 };
/** Bounds for the health of many targets, which is requested often. */
export const healthBounds: Bounds = { elsewhere: 1_000, dead: 2_500 };

/** Up to this number, ready messages are counted by rows. Beyond it, their number is the ledger's total less other messages. */
const maxReadyCounted = 500;
/** Rates cover this number of whole minutes and the current minute. */
const rateMinutes = 5;

type Counts = Record<
  | "ready"
  | "lapsed"
  | "claimed"
  | "delayed"
  | "blocked"
  | "poison"
  | "dead"
  | "held"
  | "accepted"
  | "acknowledged",
  number
>;

/**
 * Statistics of a mailbox at this moment. Counts no more messages than `bounds`: of claimed and released messages, those that
 * become claimable first. Changes nothing.
 */
export async function mailboxStats(
  deps: ReadDeps,
  mailbox: MailboxMoment,
  bounds: Bounds,
): Promise<MailboxStats> {
  const minute = Math.floor(mailbox.nowMs / 60_000);
  const { rows } = await deps.pool.query<Counts & Record<"oldest_ready" | "oldest_waiting", string | null>>({
    name: "mailbox_stats",
    text: statsText,
    values: [
      mailbox.nowMs,
      mailbox.bucket,
      mailbox.id,
      mailbox.expiredBefore,
      mailbox.maxClaims,
      bounds.elsewhere,
      minute - rateMinutes,
      bounds.dead,
      maxReadyCounted,
    ],
  });
  const row = rows[0]!;
  const elsewhere = row.lapsed + row.claimed + row.delayed + row.blocked + row.poison;
  const hasAllElsewhere = elsewhere < bounds.elsewhere;
  // If not all other messages were counted, this is an upper bound.
  const ready = row.ready < maxReadyCounted ? row.ready : Math.max(row.held - elsewhere, row.ready);
  const oldest = [row.oldest_ready, row.oldest_waiting].filter((id) => id !== null).sort()[0];
  const rateSeconds = rateMinutes * 60 + (mailbox.nowMs % 60_000) / 1000;
  return {
    ready: ready + row.lapsed,
    claimed: row.claimed,
    delayed: row.delayed,
    blocked: row.blocked,
    dead: row.dead + row.poison,
    counts_are_exact: hasAllElsewhere && row.dead < bounds.dead,
    oldest_age_seconds: oldest === undefined ? null : ageSeconds(oldest, mailbox.nowMs),
    accepted_per_minute: rate(row.accepted, rateSeconds),
    acknowledged_per_minute: rate(row.acknowledged, rateSeconds),
  };
}

function ageSeconds(id: string, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - idTimeMs(id)) / 1000));
}

function rate(count: number, seconds: number): number {
  return Math.round((count * 60 * 100) / seconds) / 100;
}

const statsText = `
  with ready as materialized (
    select m.id, m.position
    from messages m
    where m.bucket = $2
      and m.mailbox_id = $3
      and m.state = 1
      and m.id >= $4
    order by m.position
    limit $9
  ),
  waiting as materialized (
    select
      count(*) filter (where m.state = 2 and m.claimable_at > $1) as claimed,
      count(*) filter (where m.state = 3 and m.claimable_at > $1) as delayed,
      count(*) filter (where m.state = 4) as blocked,
      count(*) filter (where m.state = 3 and m.claimable_at <= $1
        or m.state = 2 and m.claimable_at <= $1 and (m.claim_count >= $5) is not true) as lapsed,
      count(*) filter (where m.state = 2 and m.claimable_at <= $1 and m.claim_count >= $5) as poison,
      min(m.id::text) filter (
        where m.state <> 2
          or m.claimable_at <= $1 and (m.claim_count >= $5) is not true
      ) as oldest
    from (
      select w.state, w.claimable_at, w.claim_count, w.id
      from messages w
      where w.bucket = $2
        and w.mailbox_id = $3
        and w.state <> 1
        and w.id >= $4
      order by w.claimable_at
      limit $6
    ) m
  ),
  ledger as materialized (
    select sum(l.held) as held, sum(l.accepted) filter (where l.minute >= $7) as accepted,
      sum(l.acknowledged) filter (where l.minute >= $7) as acknowledged
    from (
      select a.minute, a.accepted, a.acknowledged, a.held
      from mailbox_activity a
      where a.bucket = $2
        and a.mailbox_id = $3
      union all
      select n.minute, n.accepted, n.acknowledged, n.held
      from mailbox_minutes n
      where n.bucket = $2
        and n.mailbox_id = $3
    ) l
  )
  select
    (select count(*) from ready) as ready,
    (select id from ready order by position limit 1) as oldest_ready,
    w.lapsed,
    w.claimed,
    w.delayed,
    w.blocked,
    w.poison,
    replace(w.oldest, '-', '') as oldest_waiting,
    (
      select count(*)
      from (
        select
        from closed_messages c
        where c.bucket = $2
          and c.mailbox_id = $3
          and c.dead
          and c.id >= $4
        order by c.id
        limit $8
      ) d
    ) as dead,
    coalesce(l.held, 0)::bigint as held,
    coalesce(l.accepted, 0)::bigint as accepted,
    coalesce(l.acknowledged, 0)::bigint as acknowledged
  from waiting w
  cross join ledger l`;
