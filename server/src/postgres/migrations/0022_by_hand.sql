-- What people do to messages of mailboxes, and the erasure of what items held.

-- Claims that a person took away and messages that a person rejected: what, by whom and why, as long as the message's
-- item is kept.
create table message_interventions (
  bucket smallint not null,
  message_id uuid not null,
  -- UUIDv7: in the order in which they happened.
  id uuid not null,
  org_id uuid not null,
  mailbox_id uuid not null,
  user_id uuid not null,
  -- The user's address at that moment: users change and go.
  email text not null,
  action text not null
    constraint message_interventions_action check (action in ('force_release', 'force_reject')),
  -- The key whose claim it ended; null where nobody had claimed the message.
  claimed_by uuid,
  reason text,
  -- Unix milliseconds.
  at_ms bigint not null,
  constraint message_interventions_pkey primary key (bucket, message_id, id)
);
-- For what is past retention.
create index message_interventions_age on message_interventions (message_id);

-- Requests to erase the payload and the answers of one event with its copies, or of all events of a correlation id.
create table erasures (
  -- UUIDv7: in the order of the requests.
  id uuid not null,
  org_id uuid not null,
  event_id uuid,
  correlation_id text,
  status text not null default 'RUNNING'
    constraint erasures_status check (status in ('RUNNING', 'DONE')),
  -- Who asked for it, in words: users and keys go.
  created_by text not null,
  -- Unix milliseconds.
  created_at bigint not null,
  finished_at bigint,
  -- How many events it is about, once they have been counted, and how many it has erased.
  total bigint,
  erased bigint not null default 0,
  -- How far the events of the correlation id have been walked, and how many the present walk has erased: the last walk
  -- finds none.
  walked_to uuid,
  walk_erased bigint not null default 0,
  constraint erasures_pkey primary key (id),
  constraint erasures_subject check ((event_id is null) <> (correlation_id is null)),
  constraint erasures_finished check ((status = 'DONE') = (finished_at is not null))
);
create index erasures_org on erasures (org_id, id);
create index erasures_event on erasures (org_id, event_id) where event_id is not null;
create index erasures_running on erasures (id) where status = 'RUNNING';

-- Items whose idempotency keys may still hold a digest of their body.
create table erased_digests (
  bucket smallint not null,
  event_id uuid not null,
  constraint erased_digests_pkey primary key (bucket, event_id)
);

-- The erasure that emptied the payload: the one change that is ever made to an event.
alter table events add column erasure_id uuid;
-- The copies that replays make. On the parent only, as with 0014_lists.
create index events_source on only events (org_id, source_event_id)
  where source_event_id is not null;

-- The item that carried the task's end to the target of results: what an erasure has to follow.
alter table handoffs add column result_event_id uuid;
