-- The ranges that the 50th, 95th and 99th percentile of some latencies lie in; latencyRanges.ts has the same as
-- `percentiles`. Null where nothing was counted. measured is how many were.
create function latency_percentiles(
  p_ranges smallint[],
  p_counts bigint[],
  out p50 smallint,
  out p95 smallint,
  out p99 smallint,
  out measured bigint
) language plpgsql immutable as $$
declare
  v_below bigint := 0;
begin
  measured := coalesce((select sum(c) from unnest(p_counts) as c), 0);
  for n in 1 .. coalesce(cardinality(p_ranges), 0) loop
    v_below := v_below + p_counts[n];
    if p50 is null and v_below >= measured * 0.5 then
      p50 := p_ranges[n];
    end if;
    if p95 is null and v_below >= measured * 0.95 then
      p95 := p_ranges[n];
    end if;
    if v_below >= measured * 0.99 then
      p99 := p_ranges[n];
      return;
    end if;
  end loop;
end
$$;
