-- A2A: who the agents behind targets are, and what became of the work handed to them.

-- One row for each a2a target: the agent's card as last found whole, and how the service proves itself. On Citus a
-- reference table, as `targets` is. The interface in use is the target's `url`.
create table agent_cards (
  target_id uuid primary key references targets on delete cascade,
  card_url text not null,
  card jsonb not null,
  etag text,
  tenant text,
  extensions text[] not null,
  push_notifications boolean not null,
  signature text not null check (signature in ('verified', 'unverified', 'invalid', 'none')),
  -- Who vouches for a verified card, or why the signature was not verified.
  key_set_url text,
  signature_detail text,
  -- Unix seconds: when the card was last read with success, and when it is read again by itself.
  fetched_at bigint not null,
  refresh_at bigint not null,
  -- Failures to read it since then, and the last one.
  failures smallint not null default 0,
  last_error text,
  last_error_at bigint,
  -- A newer card names an interface of this origin, which waits for the owner's consent.
  offered_origin text,
  -- The sealed token (AES-256-GCM), and the only origin that it is sent to.
  bearer bytea,
  bearer_origin text,
  -- Where the end of each task goes as an item: a mailbox or webhook of the same organization.
  result_target_id uuid references targets on delete set null,
  check ((bearer is null) = (bearer_origin is null)),
  check ((last_error is null) = (last_error_at is null)),
  check ((signature = 'verified') = (key_set_url is not null)),
  check (result_target_id <> target_id)
);
create index agent_cards_refresh on agent_cards (refresh_at);
create index agent_cards_result on agent_cards (result_target_id)
  where result_target_id is not null;

-- What is known of each item handed to an agent, in the partition of its day. The row is written before the
-- message is sent, so that a message whose answer was lost is known to have been sent, whatever crashes.
--
--   sending ── answered with a task or a message ──► accepted ── ended, or given up on ──► outcome
--      └─ unanswered: looked for in the agent's task list before anything is sent again
create table handoffs (
  bucket smallint not null,
  event_id uuid not null,
  org_id uuid not null,
  target_id uuid not null,
  -- Unix milliseconds of the first message that may have arrived although its answer did not.
  unanswered_since bigint,
  -- A message was sent again although it could not be known whether the first had made a task.
  possible_duplicate boolean not null default false,
  -- Unix milliseconds of the agent's acceptance; what follows is null before.
  accepted_at bigint,
  task_id text,
  context_id text,
  -- As the agent last said, without the protocol's prefix TASK_STATE_.
  state text,
  status_message text,
  -- JSON text: the status message's parts, and the artifacts, both cut to a size.
  status_parts text,
  artifacts text,
  is_truncated boolean not null default false,
  -- Of all that was last seen; equal means unchanged.
  fingerprint text,
  -- What keeps the service from following the task, while something does.
  follow_error text,
  outcome text check (outcome in ('COMPLETED', 'FAILED', 'CANCELED', 'REJECTED', 'UNKNOWN')),
  updated_at bigint not null,
  primary key (bucket, event_id),
  check (accepted_at is null or unanswered_since is null),
  check (outcome is null or accepted_at is not null)
) partition by range (event_id);

-- Tasks that are still followed: narrow, short-lived, deleted at the task's end.
create table handoff_polls (
  bucket smallint not null,
  -- Looks at the task since it last changed, and how many of the latest found none.
  polls smallint not null default 0,
  missing smallint not null default 0,
  event_id uuid not null,
  target_id uuid not null,
  -- Unix milliseconds: the next look, and when to give up unless something changes.
  due_at bigint not null,
  deadline_at bigint not null,
  lease_until bigint,
  lease_token bigint,
  primary key (bucket, event_id),
  check ((lease_until is null) = (lease_token is null))
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.2
);
create index handoff_polls_due on handoff_polls (bucket, target_id, due_at)
  where lease_until is null;
create index handoff_polls_leased on handoff_polls (bucket, lease_until)
  where lease_until is not null;
