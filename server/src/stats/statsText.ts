/** Whose activity it is, as conditions on each of the tables. */
interface Conditions {
  steps: string;
  activity: string;
  mailboxes: string;
}

/**
 * Folded steps, and what was written since: of one row there is either. Latencies of a step are read where its percentiles
 * cannot be: they are out of date, or what was written since belongs to it. Steps with their percentiles come as one text:
 * 1,440 rows of the driver's took 14 ms at the 95th percentile, their text takes 5.
 */
function statsText(of: Conditions): string {
  return `
    with unfolded as materialized (
      select
        a.at_ms / 1000 / $2 * $2 as at, a.accepted, a.delivered, a.retried, a.failed, a.latencies
      from target_activity a
      where ${of.activity}
        and a.org_id = $1
        and a.at_ms >= $3::bigint * 1000
        and a.at_ms < $4::bigint * 1000
    ),
    oldest as (
      select coalesce(min(u.at), 9223372036854775807) as at
      from unfolded u
    ),
    folded as materialized (
      select
        s.at, s.accepted, s.delivered, s.retried, s.failed, s.p50_range, s.p95_range, s.p99_range, k.is_kept,
        case when not k.is_kept then s.latency_ranges end as latency_ranges,
        case when not k.is_kept then s.latency_counts end as latency_counts
      from activity_steps s
      cross join oldest o
      cross join lateral (values (coalesce(s.measured = s.delivered, false) and s.at < o.at)) as k (is_kept)
      where ${of.steps}
        and s.org_id = $1
        and s.step = $2
        and s.at >= $3
        and s.at < $4
    ),
    of_mailboxes as (
      select m.minute::bigint * 60 / $2 * $2 as at, sum(m.accepted) as accepted, sum(m.acknowledged) as acknowledged
      from targets t
      join mailbox_activity m on m.bucket = get_byte(uuid_send(t.id), 15) and m.mailbox_id = t.id
      where ${of.mailboxes}
        and t.org_id = $1
        and m.minute::bigint * 60 >= $3
        and m.minute::bigint * 60 < $4
      group by 1
    )
    select
      null::bigint as at, 0::bigint as accepted, 0::bigint as delivered, 0::bigint as retried, 0::bigint as failed,
      string_agg(k.step, ' ') as kept, null as ranges, null as counts
    from (
      select concat_ws(
        ' ', f.at, f.accepted, f.delivered, f.retried, f.failed,
        coalesce(f.p50_range + 1, 0), coalesce(f.p95_range + 1, 0), coalesce(f.p99_range + 1, 0)
      ) as step
      from folded f
      where f.is_kept
      union all
      select concat_ws(' ', m.at, m.accepted, m.acknowledged, 0, 0, 0, 0, 0)
      from of_mailboxes m
    ) k
    union all
    select
      f.at, f.accepted, f.delivered, f.retried, f.failed,
      null, array_to_string(f.latency_ranges, ' '), array_to_string(f.latency_counts, ' ')
    from folded f
    where not f.is_kept
    union all
    select u.at, u.accepted, u.delivered, u.retried, u.failed, null, array_to_string(u.latencies, ' '), null
    from unfolded u
    union all
    ${totalsText(of)}`;
}

/** The latencies of the whole range, of as few steps as it can be put together from. */
function totalsText(of: Conditions): string {
  return `
    select null, 0, 0, 0, 0, null, string_agg(l.range::text, ' ' order by l.range), string_agg(l.count::text, ' ' order by l.range)
    from (
      select u.range, sum(u.count) as count
      from (
        -- In the list of what is selected and not in from: there a call of unnest for each row took half as long again.
        select unnest(s.latency_ranges) as range, unnest(s.latency_counts) as count
        from unnest($5::integer[], $6::bigint[], $7::bigint[]) as piece (step, starts, ends)
        join activity_steps s
          on s.step = piece.step
          and s.at >= piece.starts
          and s.at < piece.ends
        where ${of.steps}
          and s.org_id = $1
      ) u
      group by u.range
    ) l`;
}

export const targetText = statsText({
  steps: "s.scope_id = $8",
  activity: "a.target_id = $8",
  mailboxes: "t.id = $8 and m.bucket = $9",
});

export const organizationText = statsText({
  steps: "s.scope_id = $1",
  activity: "true",
  mailboxes: "t.kind = 'mailbox'",
});
