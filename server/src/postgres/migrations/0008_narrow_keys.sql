-- Keys of idempotency without the target beside them: it is part of the digest, which saves half of the index and most
-- of the work of comparing. What was accepted in the last days keeps its keys.
create temporary table kept_keys on commit drop as
select
  k.bucket,
  k.day,
  lpad(to_hex(d.bits::bit(64)::bigint), 16, '0') || lpad(to_hex((d.bits << 64)::bit(64)::bigint), 16, '0') as key_digest,
  encode(k.body_digest, 'hex') as body_digest,
  k.event_id
from idempotency_keys k
cross join lateral (
  select
    ('x' || encode(k.key_digest, 'hex'))::bit(128) # ('x' || replace(k.target_id::text, '-', ''))::bit(128) as bits
) d;

drop table idempotency_keys;

-- Which item an idempotency key stands for. The day is part of the key because partitions are by day; around
-- midnight a key is written to both days, so that two requests can never both win.
create table idempotency_keys (
  bucket smallint not null,
  -- Days since 1970-01-01 UTC.
  day integer not null,
  -- The first 16 bytes of SHA-256 of the key, exclusive or the target's id; and of the body.
  key_digest uuid not null,
  body_digest uuid not null,
  event_id uuid not null,
  primary key (bucket, key_digest, day)
) partition by range (day);

do $$
declare
  v_day integer;
begin
  for v_day in select distinct k.day from kept_keys k loop
    execute format(
      'create table %I partition of idempotency_keys for values from (%s) to (%s)
       with (autovacuum_analyze_scale_factor = 1)',
      'idempotency_keys_' || to_char(to_timestamp(v_day::bigint * 86400) at time zone 'UTC', 'YYYYMMDD'),
      v_day,
      v_day + 1
    );
  end loop;
end
$$;

insert into idempotency_keys (bucket, day, key_digest, body_digest, event_id)
select k.bucket, k.day, k.key_digest::uuid, k.body_digest::uuid, k.event_id
from kept_keys k;
