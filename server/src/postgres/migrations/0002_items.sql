-- The data plane. Everything here is found by bucket first; ids are UUIDv7, so ranges of ids are ranges of
-- time, and an id alone says which daily partition holds it.

-- Accepted items: append-only, never updated, dropped a day at a time. The moment of acceptance is in the id.
create table events (
  bucket smallint not null,
  kind smallint not null check (kind in (1, 2, 3)),
  max_retries smallint not null,
  -- One usage record: true for a newly accepted item, false for a replay.
  billable boolean not null,
  target_id uuid not null,
  id uuid not null,
  org_id uuid not null,
  source_event_id uuid,
  event_type text,
  correlation_id text,
  ordering_key text,
  payload bytea not null,
  primary key (bucket, target_id, id)
) partition by range (id);
create index events_org on events (org_id, id);
create index events_correlation on events (org_id, correlation_id, id)
  where correlation_id is not null;

-- What is still due: narrow, short-lived, deleted with the last attempt. Nothing is kept here.
create table deliveries (
  bucket smallint not null,
  kind smallint not null check (kind in (1, 3)),
  -- Attempts made in all, and in the present schedule (a re-enabled target starts a new one).
  attempts smallint not null default 0,
  schedule_attempts smallint not null default 0,
  event_id uuid not null,
  target_id uuid not null,
  org_id uuid not null,
  -- Unix milliseconds; for an item that was never tried, the moment of its id.
  due_at bigint not null,
  -- A lease is held by whoever knows its token; both are null while nobody works on the item.
  lease_until bigint,
  lease_token bigint,
  primary key (bucket, event_id),
  check ((lease_until is null) = (lease_token is null)),
  check (schedule_attempts between 0 and attempts)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.2
);
create index deliveries_due on deliveries (bucket, target_id, due_at)
  where lease_until is null;
create index deliveries_leased on deliveries (bucket, lease_until)
  where lease_until is not null;
-- Lists what is QUEUED or RETRYING, newest first, however large the backlog is. An item that is dispatched from
-- memory and delivered at once is never in it.
create index deliveries_listed on deliveries (bucket, target_id, least(attempts, 1), event_id)
  where lease_until is null;

-- Each exchange with a receiver: append-only, in the partition of its event's day.
create table attempts (
  bucket smallint not null,
  number smallint not null check (number > 0),
  -- 1 delivered, 2 to be retried, 3 failed for good.
  outcome smallint not null check (outcome in (1, 2, 3)),
  status_code smallint not null,
  duration_ms integer not null,
  event_id uuid not null,
  org_id uuid not null,
  target_id uuid not null,
  -- Unix milliseconds.
  attempted_at bigint not null,
  error text,
  -- At most 1 KiB of what the receiver answered.
  response_body bytea,
  check ((outcome = 1) = (error is null))
) partition by range (event_id);
-- Each attempt is in exactly one of the two, so they cost what one would, and each lists a status in order.
create index attempts_delivered on attempts (org_id, event_id)
  where outcome = 1;
create index attempts_failed on attempts (org_id, event_id)
  where outcome <> 1;

-- Ends other than delivery. An event without a row here and without a delivery row was delivered.
create table settlements (
  bucket smallint not null,
  status text not null check (status in ('FAILED', 'FILTERED', 'CANCELED')),
  event_id uuid not null,
  org_id uuid not null,
  target_id uuid not null,
  -- Unix milliseconds.
  settled_at bigint not null,
  primary key (bucket, event_id)
) partition by range (event_id);
create index settlements_org on settlements (org_id, status, event_id);
create index settlements_target on settlements (target_id, status, event_id);

-- Which item an idempotency key stands for. The day is part of the key because partitions are by day; around
-- midnight a key is written to both days, so that two requests can never both win.
create table idempotency_keys (
  bucket smallint not null,
  -- Days since 1970-01-01 UTC.
  day integer not null,
  target_id uuid not null,
  -- The first 16 bytes of SHA-256, of the key and of the body.
  key_digest bytea not null,
  body_digest bytea not null,
  event_id uuid not null,
  primary key (bucket, target_id, key_digest, day)
) partition by range (day);

-- The ledger: one row per organization and batch of newly accepted items, written with the items themselves
-- and folded into usage_totals by maintenance. What was accepted is the sum over both, in one statement.
create table usage_records (
  bucket smallint not null,
  -- The month as year × 100 + month, UTC.
  period integer not null,
  items integer not null check (items > 0),
  org_id uuid not null
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

create table usage_totals (
  org_id uuid not null,
  period integer not null,
  items bigint not null,
  primary key (org_id, period)
);
