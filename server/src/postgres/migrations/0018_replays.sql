-- Replays of many events, as jobs that any node works on.

-- The job that made an event. Most events have none, and cost nothing for it.
alter table events add column replay_id uuid;
-- On the parent only, as in 0014: what is stored already has no replay_id, and maintenance builds the rest.
create index events_replay on only events (org_id, replay_id, id)
  where replay_id is not null;

-- One row for each job. Whoever works on it holds its lease for one batch; the token is a fencing token.
create table replays (
  id uuid not null,
  org_id uuid not null
    constraint replays_org_id_fkey references organizations,
  status text not null default 'RUNNING',
  -- As it was asked for.
  filter jsonb not null,
  rate_per_second integer not null,
  -- In words for a person: a user's address, or an API key's name and prefix.
  created_by text not null,
  -- Moments are Unix milliseconds.
  created_at bigint not null,
  finished_at bigint,
  -- Only events with smaller ids are in the set; those that the job makes have larger ones.
  until_id uuid not null,
  -- How many events are in the set; null until they are counted.
  total bigint,
  -- Events made, and how those have ended so far.
  replayed bigint not null default 0,
  delivered bigint not null default 0,
  failed bigint not null default 0,
  -- Events of the set that were not replayed, by the reason.
  skipped_waiting bigint not null default 0,
  skipped_no_target bigint not null default 0,
  skipped_mailbox_disabled bigint not null default 0,
  skipped_expired bigint not null default 0,
  -- The next batch is due; keeps the rate.
  due_at bigint not null,
  lease_until bigint,
  lease_token bigint,
  constraint replays_pkey primary key (id),
  constraint replays_state check (
    status in ('RUNNING', 'DONE', 'CANCELED')
    and (status = 'RUNNING') = (finished_at is null)
    and (lease_until is null) = (lease_token is null)
    and rate_per_second > 0
  )
);
create index replays_org on replays (org_id, id);
create index replays_running on replays (due_at)
  where status = 'RUNNING';
create index replays_finished on replays (finished_at)
  where finished_at is not null;

-- How far a job has come with each target. Targets have cursors of their own, so that one that takes its time does not
-- hold up the others.
create table replay_parts (
  replay_id uuid not null
    constraint replay_parts_replay_id_fkey references replays on delete cascade,
  target_id uuid not null,
  is_done boolean not null default false,
  -- The last event that was looked at.
  cursor_id uuid not null default '00000000-0000-0000-0000-000000000000',
  -- Unix milliseconds; later for a target that has much waiting.
  due_at bigint not null default 0,
  is_counted boolean not null default false,
  counted bigint not null default 0,
  counted_to uuid not null default '00000000-0000-0000-0000-000000000000',
  constraint replay_parts_pkey primary key (replay_id, target_id)
);
create index replay_parts_due on replay_parts (replay_id, due_at, target_id)
  where not is_done;
create index replay_parts_uncounted on replay_parts (replay_id, target_id)
  where not is_counted;

-- Events made by jobs whose end is not counted yet: looked at now and then, later the older they are.
create table replay_pending (
  replay_id uuid not null
    constraint replay_pending_replay_id_fkey references replays on delete cascade,
  event_id uuid not null,
  -- Unix milliseconds.
  due_at bigint not null,
  constraint replay_pending_pkey primary key (replay_id, event_id)
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
create index replay_pending_due on replay_pending (due_at);
