-- What the service tells an organization of its own targets and items, at targets that the organization names.

create table notification_targets (
  id uuid not null,
  org_id uuid not null
    constraint notification_targets_org references organizations,
  target_id uuid not null
    constraint notification_targets_target references targets on delete cascade,
  event_types text[] not null
    constraint notification_targets_types check (cardinality(event_types) between 1 and 16),
  created_at bigint not null,
  constraint notification_targets_pkey primary key (id),
  constraint notification_targets_once unique (org_id, target_id)
);
create index notification_targets_by_target on notification_targets (target_id);

-- What is to be told, written by the statement that makes it so and removed by the transaction that makes the items: it is
-- neither lost nor told twice. Empty unless somebody is told.
create table operational_events (
  id uuid not null default gen_random_uuid(),
  org_id uuid not null,
  type text not null,
  -- What it is about, and the first of the events that it is about or comes from.
  target_id uuid not null,
  event_ids uuid[],
  count integer not null
    constraint operational_events_count check (count > 0),
  -- In the service's own words; nothing that a client or a receiver has said.
  reason text,
  -- Unix milliseconds.
  at_ms bigint not null,
  constraint operational_events_pkey primary key (id)
);
create index operational_events_subject on operational_events (org_id, type, target_id, at_ms);

-- Until when what is told of a subject gathers.
create table notification_paces (
  org_id uuid not null,
  type text not null,
  target_id uuid not null,
  -- Unix milliseconds.
  next_at_ms bigint not null,
  constraint notification_paces_pkey primary key (org_id, type, target_id)
);

-- An item by which the service tells of something: what becomes of it is told to nobody.
alter table events add column is_operational boolean;
