-- The baseline: the schema of 1.0.0.
--
-- Ids are UUIDv7, so that ranges of ids are ranges of time. In the data plane the last byte of an id is its bucket, which comes
-- first in every key; tables that are divided by id have one partition a day, and an id alone says which one holds it.
-- Moments are Unix seconds in the control plane and Unix milliseconds in the data plane, unless a column says otherwise.

-- Accounts --

-- The control plane: small tables, read by every statement of the data plane. On Citus they are reference tables.

create table organizations (
  id uuid primary key,
  name text not null,
  slug text not null unique,
  billing_status text not null
    check (billing_status in ('pending', 'active', 'grace', 'suspended', 'exempt')),
  -- Unix seconds; the state of a grace period that has ended reads as suspended, see billing_state.
  billing_grace_ends_at bigint,
  created_at bigint not null,
  -- Whether admins may read signing secrets again. If not, a secret is shown once, at creation and at rotation.
  secrets_can_be_revealed boolean not null default false,
  check ((billing_status = 'grace') = (billing_grace_ends_at is not null))
);

create table users (
  id uuid primary key,
  org_id uuid not null references organizations,
  email text not null,
  -- The address as compared: trimmed and lower-cased.
  email_key text not null unique,
  name text not null,
  role text not null
    constraint users_role check (role in ('admin', 'member', 'viewer')),
  password_hash text not null,
  created_at bigint not null
);
create index users_org on users (org_id);

create table sessions (
  -- SHA-256 of the token.
  token_hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  -- A user's logins in their order; one second may hold several.
  number integer not null,
  created_at bigint not null,
  expires_at bigint not null,
  unique (user_id, number)
);
create index sessions_expiry on sessions (expires_at);

-- Links to set a new password, sent by mail. A user has one at a time; a newer one replaces it.
create table password_resets (
  user_id uuid not null references users on delete cascade,
  -- SHA-256 of the token, which works once.
  token_hash bytea not null,
  -- Unix seconds.
  expires_at bigint not null,
  constraint password_resets_pkey primary key (user_id),
  constraint password_resets_token unique (token_hash)
);
create index password_resets_expiry on password_resets (expires_at);

create table invitations (
  id uuid not null,
  org_id uuid not null references organizations,
  role text not null,
  -- The invited address; null if anyone with the link may accept.
  email text,
  -- SHA-256 of the token.
  token_hash bytea not null,
  -- A user, who may be deleted by now.
  created_by uuid not null,
  -- Unix seconds.
  created_at bigint not null,
  expires_at bigint not null,
  accepted_at bigint,
  -- The user that accepting created.
  accepted_by uuid,
  revoked_at bigint,
  constraint invitations_pkey primary key (id),
  constraint invitations_token unique (token_hash),
  constraint invitations_role check (role in ('admin', 'member', 'viewer')),
  constraint invitations_accepted check ((accepted_at is null) = (accepted_by is null)),
  constraint invitations_one_end check (accepted_at is null or revoked_at is null)
);
create index invitations_org on invitations (org_id, id);
create index invitations_expiry on invitations (expires_at);

-- The customers of an organization, by the organization's own names for them. Targets may belong to a customer.
create table customers (
  id uuid not null,
  org_id uuid not null references organizations,
  -- The organization's own name for it; compared by its bytes.
  uid text collate "C" not null,
  name text not null,
  metadata jsonb not null,
  -- Unix seconds.
  created_at bigint not null,
  updated_at bigint not null,
  constraint customers_pkey primary key (org_id, uid),
  constraint customers_id unique (id)
);

create table api_keys (
  id uuid primary key,
  org_id uuid not null references organizations,
  name text not null,
  -- SHA-256 of the key.
  key_hash bytea not null unique,
  -- The first 12 characters, all that a list shows.
  prefix text not null,
  created_at bigint not null,
  last_used_at bigint,
  -- The limit of the key; null for a key without one. A customer's keys are deleted with the customer.
  scope text,
  customer_uid text collate "C",
  mailbox_ids uuid[],
  constraint api_keys_scope check (
    case scope
      when 'send' then customer_uid is null and mailbox_ids is null
      when 'read' then customer_uid is null and mailbox_ids is null
      when 'consume' then customer_uid is null and mailbox_ids is not null
      when 'customer' then customer_uid is not null and mailbox_ids is null
      else scope is null and customer_uid is null and mailbox_ids is null
    end
  ),
  constraint api_keys_customer foreign key (org_id, customer_uid) references customers (org_id, uid)
    on delete cascade
);
create index api_keys_org on api_keys (org_id, created_at);
create index api_keys_of_customer on api_keys (org_id, customer_uid)
  where customer_uid is not null;

-- Attempts of a client address in its present window, for signup and login. Counted here, so that rate limits hold across
-- processes and restarts. A window begins with the first attempt, in Unix seconds.
create table rate_limits (
  scope text not null,
  subject text not null,
  window_start bigint not null,
  hits integer not null,
  primary key (scope, subject)
);
create index rate_limits_window on rate_limits (window_start);

-- The audit log: who changed what, from where. Rows are written in the transaction of the change, are never updated and never
-- contain a secret. The moment of an entry is in its id.
create table audit_log (
  id uuid not null,
  -- Null for a refused login at an address that has no account.
  org_id uuid references organizations,
  action text not null,
  actor_kind text not null,
  -- A user, API key or customer, which may be deleted by now.
  actor_id uuid,
  -- Its name at that time: a user's address, a key's name, an operator's login.
  actor_name text,
  object_kind text not null,
  object_id uuid,
  object_name text,
  -- The fields that differ, by their names in the interface; null where there was or is nothing.
  before jsonb,
  after jsonb,
  client_address text,
  user_agent text,
  request_id text,
  constraint audit_log_pkey primary key (id),
  constraint audit_log_actor check (
    case actor_kind
      when 'user' then actor_id is not null
      when 'key' then actor_id is not null
      when 'customer' then actor_id is not null
      when 'operator' then actor_id is null and actor_name is not null
      when 'service' then actor_id is null and actor_name is not null
      when 'unknown' then actor_id is null and actor_name is null
      else false
    end
  )
);
create index audit_log_org on audit_log (org_id, id);
create index audit_log_action on audit_log (org_id, action, id);
create index audit_log_actor_id on audit_log (org_id, actor_id, id);
create index audit_log_object_id on audit_log (org_id, object_id, id);

-- Targets --

create table targets (
  id uuid primary key,
  org_id uuid not null references organizations,
  kind text not null check (kind in ('webhook', 'mailbox', 'a2a')),
  name text not null,
  description text not null default '',
  enabled boolean not null default true,
  -- Why the service itself disabled the target; null when it is enabled or its owner disabled it.
  disabled_reason text,
  url text,
  -- Which event types are delivered; empty means all.
  event_types text[] not null default '{}',
  max_payload_bytes integer not null default 1048576,
  max_retries smallint not null default 8,
  retry_interval_seconds integer not null default 30,
  -- Sealed signing secrets (AES-256-GCM); the previous one exists only while a rotation is in progress.
  secret bytea,
  previous_secret bytea,
  -- Unix seconds of the first failure since the last success; null while deliveries succeed.
  failing_since bigint,
  -- Grows with every change, so that a process knows whether its cached copy is current.
  version bigint not null default 1,
  created_at bigint not null,
  updated_at bigint not null,
  -- How many claims a message of a mailbox may take before it is dead; null means any number.
  max_claims integer check (max_claims between 1 and 1000),
  -- The owner's limits; null: the service's own.
  rate_limit_per_second double precision,
  -- How many attempts may begin at once after a pause; null: a tenth of a second's worth, at least one.
  rate_limit_burst integer,
  max_concurrency smallint,
  -- The target's own headers for each attempt. JSON text: an array of names, each with its value or with a sealed one.
  headers text,
  -- The target's version at which the headers were set; null: it has none.
  header_set integer,
  uid text collate "C",
  -- Null: the target belongs to no customer.
  customer_uid text collate "C",
  metadata jsonb,
  -- Unix seconds at which the previous secret ends by itself; null when its owner ends it.
  previous_secret_until bigint,
  -- A pattern over payload and metadata that items have to match, as JSON; null for all items.
  filter text,
  -- The digest of that text, by which the service says with which filter it matched an item.
  filter_digest uuid,
  check ((kind = 'mailbox') = (url is null)),
  check ((kind = 'webhook') = (secret is not null)),
  check (previous_secret is null or secret is not null),
  check (disabled_reason is null or not enabled),
  check (max_claims is null or kind = 'mailbox'),
  constraint targets_pace check (
    (rate_limit_per_second is null or rate_limit_per_second > 0)
    and (rate_limit_burst is null or rate_limit_burst > 0)
    and (max_concurrency is null or max_concurrency between 1 and 256)
  ),
  constraint targets_customer foreign key (org_id, customer_uid) references customers (org_id, uid)
);
create index targets_org on targets (org_id, id);
create index targets_tryout on targets (url) where starts_with(url, 'https://tryout.postrider.invalid/');
create unique index targets_uid on targets (org_id, uid)
  where uid is not null;
create index targets_previous_secret on targets (previous_secret_until)
  where previous_secret_until is not null;
create index targets_of_customer on targets (org_id, customer_uid, id)
  where customer_uid is not null;
-- Targets that belong to no customer, which is what `POST /p` reaches.
create index targets_unowned on targets (org_id, id)
  where customer_uid is null;

-- Former and present headers of targets, kept as long as attempts that carried them.
create table target_header_sets (
  bucket smallint not null,
  target_id uuid not null,
  number integer not null,
  -- JSON text: an object of names and values, where secret ones are ***.
  headers text not null,
  -- Unix seconds; null while the target has them.
  replaced_at bigint,
  primary key (bucket, target_id, number)
);

-- One row for each a2a target: the agent's card as last read with success, and the credential for the agent. The interface in use
-- is the target's `url`.
create table agent_cards (
  target_id uuid primary key references targets on delete cascade,
  card_url text not null,
  card jsonb not null,
  etag text,
  tenant text,
  extensions text[] not null,
  push_notifications boolean not null,
  signature text not null check (signature in ('verified', 'unverified', 'invalid', 'none')),
  -- The key set that verified the card, or why the signature was not verified.
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
  -- The header of an API key; null for a bearer token, and without a credential.
  auth_header text
    constraint agent_cards_auth_header_has_a_value check (auth_header is null or bearer is not null),
  check ((bearer is null) = (bearer_origin is null)),
  check ((last_error is null) = (last_error_at is null)),
  check ((signature = 'verified') = (key_set_url is not null)),
  check (result_target_id <> target_id)
);
create index agent_cards_refresh on agent_cards (refresh_at);
create index agent_cards_result on agent_cards (result_target_id)
  where result_target_id is not null;

-- The catalogue: an organization's event types with their descriptions, schemas and examples.
create table event_types (
  id uuid not null,
  org_id uuid not null references organizations,
  -- The type as items name it; compared by its bytes.
  name text collate "C" not null,
  description text not null,
  "group" text not null,
  deprecated boolean not null,
  -- JSON as text, which keeps the order that its author gave it; null where there is none.
  schema text,
  example text,
  -- Unix seconds.
  created_at bigint not null,
  updated_at bigint not null,
  constraint event_types_pkey primary key (org_id, name),
  constraint event_types_id unique (id)
);

-- The targets that receive an organization's operational events.

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

-- The last requests to each target whose receiver is the service itself (tryout), for its owner to see.
create table tryout_requests (
  target_id uuid not null
    constraint tryout_requests_target references targets on delete cascade,
  -- UUIDv7: in the order of arrival.
  id uuid not null,
  event_id uuid not null,
  -- JSON: [[name, value], …] in the order in which they were sent.
  headers text not null,
  -- The first bytes; size tells how many there were.
  body bytea not null,
  size integer not null
    constraint tryout_requests_size check (size >= length(body)),
  is_verified boolean not null,
  answered smallint not null
    constraint tryout_requests_answered check (answered between 200 and 599),
  constraint tryout_requests_pkey primary key (target_id, id)
);

-- The portal of customers --

-- Links to the portal, its sessions, and its appearance. Links and sessions are deleted with their customer.
create table portal_links (
  -- SHA-256 of the code, which works once.
  code_hash bytea not null,
  org_id uuid not null,
  customer_uid text collate "C" not null,
  -- In the order in which they were made; one second may hold several.
  id uuid not null,
  -- Unix seconds.
  expires_at bigint not null,
  constraint portal_links_pkey primary key (code_hash),
  constraint portal_links_customer foreign key (org_id, customer_uid) references customers (org_id, uid)
    on delete cascade
);
create index portal_links_of_customer on portal_links (org_id, customer_uid, id);
create index portal_links_expiry on portal_links (expires_at);

create table portal_sessions (
  -- SHA-256 of the token.
  token_hash bytea not null,
  org_id uuid not null,
  customer_uid text collate "C" not null,
  id uuid not null,
  expires_at bigint not null,
  constraint portal_sessions_pkey primary key (token_hash),
  constraint portal_sessions_customer foreign key (org_id, customer_uid) references customers (org_id, uid)
    on delete cascade
);
create index portal_sessions_of_customer on portal_sessions (org_id, customer_uid, id);
create index portal_sessions_expiry on portal_sessions (expires_at);

create table portal_settings (
  org_id uuid not null references organizations,
  -- Null: the organization's name.
  name text,
  -- An https or data URL, which the service never reads.
  logo text,
  -- #rrggbb
  colour text,
  -- Origins of pages that may show the portal in a frame.
  origins text[] not null,
  constraint portal_settings_pkey primary key (org_id)
);

-- Items --

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
  -- The job that made the event; null unless a replay of many did.
  replay_id uuid,
  -- The erasure that emptied the payload: the one change that is ever made to an event.
  erasure_id uuid,
  -- True for an item by which the service tells of something: what becomes of it is told to nobody.
  is_operational boolean,
  -- The trace that the item continues: 16 bytes of the trace's id, 8 of the span that accepted it, and the flags. A replay and the
  -- result of a handoff have their source's. Null where nothing was traced.
  trace_context bytea,
  -- Null for an item that came alone; the payload of a publication's items is in `publications`.
  publication_id uuid,
  -- The webhook-id of a replay's deliveries: that of the event which it repeats, through replays of replays. Null where it is the
  -- event's own id.
  webhook_id uuid,
  primary key (bucket, target_id, id)
) partition by range (id);
alter table events alter column payload set statistics 0;
create index events_org on events (org_id, id);
create index events_correlation on events (org_id, correlation_id, id)
  where correlation_id is not null;
-- Events of one type, newest first.
create index events_type on events (org_id, event_type collate "C", id)
  where event_type is not null;
create index events_replay on events (org_id, replay_id, id)
  where replay_id is not null;
-- Replays of an event.
create index events_source on events (org_id, source_event_id)
  where source_event_id is not null;

-- Publications: one call to all targets of a customer, and the items that it became. The payload is stored here once; that of the
-- items is empty. A publication is dropped on the same day as its items, whose ids are of the same millisecond.
create table publications (
  -- The organization's bucket, so that a publication is in the cell of its items.
  bucket smallint not null,
  id uuid not null,
  org_id uuid not null,
  -- Null for the targets that belong to no customer.
  customer_uid text collate "C",
  event_type text,
  correlation_id text,
  ordering_key text,
  -- Empty once it was erased.
  payload bytea not null,
  trace_context bytea,
  -- In the order of their targets, followed by items of later replays to added targets.
  event_ids uuid[] not null,
  constraint publications_pkey primary key (bucket, id)
) partition by range (id);
alter table publications
  alter column payload set statistics 0,
  alter column event_ids set statistics 0;
create index publications_org on publications (org_id, id);
create index publications_customer on publications (org_id, customer_uid, id)
  where customer_uid is not null;
create index publications_correlation on publications (org_id, correlation_id, id)
  where correlation_id is not null;

-- The item that an idempotency key stands for. Keys are partitioned by day; around midnight a key is written to both days, see
-- idempotency_winners.
create table idempotency_keys (
  bucket smallint not null,
  -- Days since 1970-01-01 UTC.
  day integer not null,
  -- The first 16 bytes of the SHA-256 of the key, XORed with the target's id; the same of the body.
  key_digest uuid not null,
  body_digest uuid not null,
  event_id uuid not null,
  primary key (bucket, key_digest, day)
) partition by range (day);

-- Deliveries --

-- Items that are still due: narrow, short-lived rows, deleted with the last attempt.
--
-- A row stands for items of one target that are due together: up to 64 that came in one batch and were not tried yet, later a
-- single one. One row, one lease and four index entries then serve many items. Each waiting item is named by exactly one row; it
-- leaves the row when it is done, or for a row of its own when it is to be retried.
create table deliveries (
  bucket smallint not null,
  kind smallint not null,
  -- Attempts in all, and in the present retry schedule. Enabling a target starts a new schedule.
  attempts smallint not null default 0,
  schedule_attempts smallint not null default 0,
  -- The item's own id for a single item; an id of its own for a row of several.
  id uuid not null,
  target_id uuid not null,
  org_id uuid not null,
  -- Unix milliseconds; for an item that was never tried, the moment of its id.
  due_at bigint not null,
  -- The lease and its fencing token; both null while no process works on the row.
  lease_until bigint,
  lease_token bigint,
  -- Ascending, all of one 1,024 ms of their ids' clocks and so of one day.
  event_ids uuid[] not null,
  primary key (bucket, id),
  -- One constraint for all: each one costs every statement a few microseconds.
  constraint deliveries_state check (
    kind in (1, 3)
    and (lease_until is null) = (lease_token is null)
    and schedule_attempts between 0 and attempts
    and cardinality(event_ids) between 1 and 64
    and (attempts = 0 or event_ids = array[id])
  )
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.2
);
-- ANALYZE reads 300 times the largest statistics target of a table's columns. These rows live for seconds and their statements
-- have generic plans: a tenth of the default sample is enough. Arrays are stored in the row, uncompressed, without statistics.
alter table deliveries
  alter column bucket set statistics 10,
  alter column kind set statistics 10,
  alter column attempts set statistics 10,
  alter column schedule_attempts set statistics 10,
  alter column id set statistics 10,
  alter column target_id set statistics 10,
  alter column org_id set statistics 10,
  alter column due_at set statistics 10,
  alter column lease_until set statistics 10,
  alter column lease_token set statistics 10,
  alter column event_ids set statistics 0,
  alter column event_ids set storage plain;
create index deliveries_due on deliveries (bucket, target_id, due_at)
  where lease_until is null;
create index deliveries_leased on deliveries (bucket, lease_until)
  where lease_until is not null;
-- Lists QUEUED and RETRYING items, newest first, however large the backlog is. Items that are dispatched from memory are leased and
-- so not in it.
create index deliveries_listed on deliveries (
  bucket, target_id, least(attempts, 1), (event_ids[cardinality(event_ids)])
)
  where lease_until is null;

-- Each exchange with a receiver: append-only, in the partition of its event's day.
create table attempts (
  bucket smallint not null,
  number smallint not null,
  -- 1 delivered, 2 to be retried, 3 failed for good.
  outcome smallint not null,
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
  -- The number of the target's header set that the attempt carried; null or 0: none.
  header_set integer,
  constraint attempts_state check (
    number > 0
    and outcome in (1, 2, 3)
    and (outcome = 1) = (error is null)
  )
) partition by range (event_id);
-- Attempts are found by their event; a key would cost each one an index entry more.
alter table attempts replica identity full;
-- Each attempt is in exactly one of the two, so that together they cost as much as one index.
create index attempts_delivered on attempts (org_id, event_id)
  where outcome = 1;
create index attempts_failed on attempts (org_id, event_id)
  where outcome <> 1;
-- Deliveries of one target, newest first. The primary key of `delivered_groups` does the same for items delivered together.
create index attempts_delivered_target on attempts (target_id, event_id)
  where outcome = 1;

-- First attempts that delivered several items of one row of `deliveries`, recorded as one row with two index entries. Every other
-- attempt is in `attempts`.
create table delivered_groups (
  bucket smallint not null,
  target_id uuid not null,
  org_id uuid not null,
  -- The last of event_ids.
  last_id uuid not null,
  -- Ascending, all of one 1,024 ms, as in `deliveries`. The other arrays have one element per item.
  event_ids uuid[] not null,
  status_codes smallint[] not null,
  durations_ms integer[] not null,
  -- Unix milliseconds.
  attempted_at bigint[] not null,
  -- At most 1 KiB of each answer; null when all answers were empty.
  response_bodies bytea[],
  header_sets integer[],
  primary key (bucket, target_id, last_id)
) partition by range (last_id);
-- ANALYZE counts every element of an array: three to five seconds of a core for a partition with a million of them, for
-- conditions that no query has.
alter table delivered_groups
  alter column event_ids set storage plain,
  alter column status_codes set storage plain,
  alter column durations_ms set storage plain,
  alter column attempted_at set storage plain,
  alter column event_ids set statistics 0,
  alter column status_codes set statistics 0,
  alter column durations_ms set statistics 0,
  alter column attempted_at set statistics 0,
  alter column response_bodies set statistics 0,
  alter column header_sets set statistics 0;
-- An organization's deliveries, newest first.
create index delivered_groups_org on delivered_groups (org_id, last_id);

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

-- Circuit breakers that processes have opened, for other processes to see: one row for each process and target, written when a
-- circuit opens and removed when it closes. A row that is long past is of a dead process, or of a target without due items.
create table open_circuits (
  bucket smallint not null,
  target_id uuid not null,
  node_id uuid not null,
  -- Unix milliseconds. Until then the process sends nothing to the target; then one request probes it.
  open_until bigint not null,
  primary key (bucket, target_id, node_id)
);

-- The token bucket of each target with a rate limit. Its row is also the lock under which processes take permits and shares. After a
-- crash of the database the table is empty, and a burst may begin anew.
create unlogged table target_paces (
  bucket smallint not null,
  target_id uuid not null,
  -- Unix microseconds: the moment of the next permit.
  next_at bigint not null,
  primary key (bucket, target_id)
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- How many concurrent requests each process may have to a target with a concurrency limit.
create table target_shares (
  bucket smallint not null,
  target_id uuid not null,
  node_id uuid not null,
  requests smallint not null,
  -- Unix milliseconds at which the share ends; the process' requests end before.
  until_ms bigint not null,
  primary key (bucket, target_id, node_id)
);

-- Mailboxes --

-- The order of acceptance. Ids cannot give it: they carry the clocks of nodes, which disagree.
create sequence message_positions;

-- Messages that are neither acknowledged nor dead nor expired: narrow rows without payload, deleted at the end. A message has the
-- id of its item; its payload is in `events`. Retention is counted from the moment in the id.
--
--             claim                acknowledge, reject
--   1 ready ───────→ 2 claimed ──────────────────────→ closed_messages
--                     │      ↑                              │
--    release, or the  │      │ claim                        │ redrive
--    lease ends       ↓      │                              │
--                   3 returned, claimable from claimable_at on
--                            ↑
--   4 parked ────────────────┘ the earlier message of its ordering key is done
--
-- Only new messages are ready, so that they are claimed in the order of their positions. A claim parks a claimable message that
-- waits behind an earlier one of its ordering key. A lapsed claim counts as returned, although the state still says claimed; the
-- next claim updates it.
create table messages (
  bucket smallint not null,
  state smallint not null default 1,
  claim_count integer not null default 0,
  -- Bytes of the payload, so that the answer to a claim can be bounded.
  size integer not null default 0,
  mailbox_id uuid not null,
  id uuid not null,
  position bigint not null default nextval('message_positions'),
  -- Unix milliseconds at which a message that is not ready becomes claimable again.
  claimable_at bigint,
  -- The API key of the present claim, and its fencing token.
  claimed_by uuid,
  claim_token uuid,
  ordering_key text,
  primary key (bucket, id),
  -- One constraint for all states: each one costs every statement a few microseconds.
  constraint messages_state check (
    claim_count >= 0
    and case state
      when 1 then claimable_at is null and claimed_by is null and claim_token is null
      when 2 then claimable_at is not null and claimed_by is not null and claim_token is not null
      when 3 then claimable_at is not null and claimed_by is null and claim_token is null
      when 4 then claimable_at is not null and claimed_by is null and claim_token is null
        and ordering_key is not null
      else false
    end
  )
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.2
);
alter table messages
  alter column bucket set statistics 10,
  alter column state set statistics 10,
  alter column claim_count set statistics 10,
  alter column size set statistics 10,
  alter column mailbox_id set statistics 10,
  alter column id set statistics 10,
  alter column position set statistics 10,
  alter column claimable_at set statistics 10,
  alter column claimed_by set statistics 10,
  alter column claim_token set statistics 10,
  alter column ordering_key set statistics 10;
-- A row is in exactly one of these two. Claims read ready messages in order from the first, and claimable ones from the second, however
-- many are leased.
create index messages_ready on messages (bucket, mailbox_id, position)
  where state = 1;
create index messages_waiting on messages (bucket, mailbox_id, claimable_at)
  where state <> 1;
create index messages_keyed on messages (bucket, mailbox_id, ordering_key, position)
  where ordering_key is not null;
-- At most one message of an ordering key is claimed at a time.
create unique index messages_key_claimed on messages (bucket, mailbox_id, ordering_key)
  where ordering_key is not null and state = 2;

-- Acknowledged and dead messages, in the partition of their day; dead ones may come back.
create table closed_messages (
  bucket smallint not null,
  dead boolean not null,
  claim_count integer not null,
  mailbox_id uuid not null,
  id uuid not null,
  position bigint not null,
  -- Unix milliseconds.
  closed_at bigint not null,
  -- The key and token that closed it; null when the service did, after too many claims.
  claimed_by uuid,
  claim_token uuid,
  ordering_key text,
  -- Why it is dead.
  reason text,
  primary key (bucket, mailbox_id, id),
  check (dead = (reason is not null)),
  check ((claimed_by is null) = (claim_token is null)),
  check (dead or claimed_by is not null)
) partition by range (id);
create index closed_messages_dead on closed_messages (bucket, mailbox_id, position)
  where dead;
-- Dead messages, newest first; `closed_messages_dead` has them in the order of acceptance.
create index closed_messages_dead_newest on closed_messages (bucket, mailbox_id, id)
  where dead;

-- The answer to each Claim-Id, so that a repeated request gets the same claim. Kept beyond the end of the lease.
create table message_claims (
  bucket smallint not null,
  mailbox_id uuid not null,
  key_id uuid not null,
  -- The first 16 bytes of SHA-256 of the Claim-Id.
  claim_digest bytea not null,
  claim_token uuid not null,
  message_ids uuid[] not null,
  -- Unix milliseconds.
  expires_at bigint not null,
  primary key (bucket, mailbox_id, key_id, claim_digest)
);
create index message_claims_expiry on message_claims (expires_at);

-- Messages that a person released or rejected: what, by whom and why. Kept as long as the message's item.
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
-- For retention.
create index message_interventions_age on message_interventions (message_id);

-- Activity of mailboxes: one row per mailbox and batch, folded into minutes by maintenance. The number of messages in a mailbox is the
-- sum of `held` over both tables, read in one statement.
create table mailbox_activity (
  bucket smallint not null,
  -- Minutes since 1970-01-01 UTC.
  minute integer not null,
  accepted integer not null,
  acknowledged integer not null,
  -- By how many the messages of the mailbox grew.
  held integer not null,
  mailbox_id uuid not null
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
alter table mailbox_activity replica identity full;
create index mailbox_activity_mailbox on mailbox_activity (bucket, mailbox_id);

create table mailbox_minutes (
  bucket smallint not null,
  -- 0: the sum of all minutes before those that are kept.
  minute integer not null,
  mailbox_id uuid not null,
  accepted bigint not null,
  acknowledged bigint not null,
  held bigint not null,
  primary key (bucket, mailbox_id, minute)
);

-- Handoffs --

-- Handoffs: the state of each item sent to an agent, in the partition of its day. The row is written before the message is sent, so
-- that a crash cannot hide a message whose answer was lost.
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
  -- True when a message was sent again although the first may have made a task.
  possible_duplicate boolean not null default false,
  -- Unix milliseconds of the agent's acceptance; what follows is null before.
  accepted_at bigint,
  task_id text,
  context_id text,
  -- The state that the agent last reported, without the prefix TASK_STATE_.
  state text,
  status_message text,
  -- JSON text: the status message's parts, and the artifacts, both cut to a size.
  status_parts text,
  artifacts text,
  is_truncated boolean not null default false,
  -- Digest of the task as last seen.
  fingerprint text,
  -- Why the task cannot be followed at present; null if it can.
  follow_error text,
  outcome text check (outcome in ('COMPLETED', 'FAILED', 'CANCELED', 'REJECTED', 'UNKNOWN')),
  updated_at bigint not null,
  -- The item that carried the task's end to the target of results: an erasure follows it.
  result_event_id uuid,
  primary key (bucket, event_id),
  check (accepted_at is null or unanswered_since is null),
  check (outcome is null or accepted_at is not null)
) partition by range (event_id);
-- Handoffs by the state of their task, or by their outcome where there was none, newest first.
create index handoffs_state on handoffs (org_id, coalesce(state, outcome), event_id)
  where coalesce(state, outcome) is not null;
create index handoffs_state_target on handoffs (target_id, coalesce(state, outcome), event_id)
  where coalesce(state, outcome) is not null;

-- Tasks that are still followed: narrow, short-lived, deleted at the task's end.
create table handoff_polls (
  bucket smallint not null,
  -- Polls since the task last changed, and how many of the latest found no task.
  polls smallint not null default 0,
  missing smallint not null default 0,
  event_id uuid not null,
  target_id uuid not null,
  -- Unix milliseconds: the next poll, and when polling ends unless the task changes.
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

-- Statistics and streams --

-- Activity of targets: one row for each target of a batch, written in the transaction of the batch and folded by maintenance. Rows
-- are never updated, so that transactions do not wait for one another.
create table target_activity (
  bucket smallint not null,
  accepted integer not null default 0,
  delivered integer not null default 0,
  retried integer not null default 0,
  failed integer not null default 0,
  target_id uuid not null,
  org_id uuid not null,
  -- Unix milliseconds.
  at_ms bigint not null,
  -- The latency range of each delivered item, as numbered in latencyRanges.ts.
  latencies smallint[]
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
alter table target_activity
  alter column latencies set storage plain,
  alter column latencies set statistics 0;
alter table target_activity replica identity full;

-- The same for publications: one row for up to 64 targets.
create table published_activity (
  -- The organization's bucket.
  bucket smallint not null,
  org_id uuid not null,
  -- Unix milliseconds.
  at_ms bigint not null,
  -- The targets, and how many items were accepted for each.
  target_ids uuid[] not null,
  accepted smallint[] not null
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
alter table published_activity
  -- Stored in the row, uncompressed.
  alter column target_ids set storage plain,
  alter column accepted set storage plain,
  alter column target_ids set statistics 0,
  alter column accepted set statistics 0;
alter table published_activity replica identity full;

-- Activity in steps of time, for each target and for all targets of an organization.
create table activity_steps (
  -- A target, or an organization.
  scope_id uuid not null,
  org_id uuid not null,
  -- Seconds: 60, 300, 3600 or 86400.
  step integer not null,
  -- Unix seconds of its beginning, a multiple of the step.
  at bigint not null,
  accepted bigint not null,
  delivered bigint not null,
  retried bigint not null,
  failed bigint not null,
  -- Unix milliseconds of the last attempt, and of the last that delivered.
  last_attempt_at bigint,
  last_success_at bigint,
  -- How many deliveries had a latency in each range; ascending, without the empty ones.
  latency_ranges smallint[] not null,
  latency_counts bigint[] not null,
  -- Percentiles beside the counts from which they were computed, so that a page of statistics reads three numbers of each step
  -- in place of some fifty. The ranges are numbered as in latencyRanges.ts.
  p50_range smallint,
  p95_range smallint,
  p99_range smallint,
  -- Over how many deliveries the percentiles are; another number than `delivered` means that they are out of date.
  measured bigint,
  primary key (scope_id, step, at)
) with (fillfactor = 70);
alter table activity_steps
  alter column latency_ranges set statistics 0,
  alter column latency_counts set statistics 0;
-- For retention.
create index activity_steps_age on activity_steps (step, at);

-- The processes with open event streams of an organization, so that others notify them. A row expires unless its process renews it.
create unlogged table stream_watches (
  org_id uuid not null,
  node_id text not null,
  -- Unix milliseconds.
  until_ms bigint not null,
  primary key (org_id, node_id)
);

-- Replays, erasures, operational events --

-- Replays of many events: one row for each job. A process holds the job's lease for one batch; the token is a fencing token.
create table replays (
  id uuid not null,
  org_id uuid not null
    constraint replays_org_id_fkey references organizations,
  status text not null default 'RUNNING',
  -- The filter as requested.
  filter jsonb not null,
  rate_per_second integer not null,
  -- For people: a user's address, or an API key's name and prefix.
  created_by text not null,
  -- Moments are Unix milliseconds.
  created_at bigint not null,
  finished_at bigint,
  -- Only events with smaller ids are in the set. Those that the job creates have larger ones.
  until_id uuid not null,
  -- How many events are in the set; null until they are counted.
  total bigint,
  -- Events created, and how many of them have ended so far.
  replayed bigint not null default 0,
  delivered bigint not null default 0,
  failed bigint not null default 0,
  -- Events of the set that were not replayed, by reason.
  skipped_waiting bigint not null default 0,
  skipped_no_target bigint not null default 0,
  skipped_mailbox_disabled bigint not null default 0,
  skipped_expired bigint not null default 0,
  -- The next batch is due; keeps the rate.
  due_at bigint not null,
  lease_until bigint,
  lease_token bigint,
  -- Whether the events get a webhook-id of their own.
  new_webhook_id boolean not null default false,
  -- Whether a replay of failures also takes those that were replayed since.
  include_replayed boolean not null default false,
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

-- The progress of a job at each target. Each target has its own cursor, so that a slow one does not delay the others.
create table replay_parts (
  replay_id uuid not null
    constraint replay_parts_replay_id_fkey references replays on delete cascade,
  target_id uuid not null,
  is_done boolean not null default false,
  -- The last event that was read.
  cursor_id uuid not null default '00000000-0000-0000-0000-000000000000',
  -- Unix milliseconds; later for a target with a backlog.
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

-- Events created by jobs whose end is not counted yet: polled at intervals that grow with their age.
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

-- Requests to erase the payload and answers of one event with its replays, or of all events with a correlation id.
create table erasures (
  -- UUIDv7: in the order of the requests.
  id uuid not null,
  org_id uuid not null,
  event_id uuid,
  correlation_id text,
  status text not null default 'RUNNING'
    constraint erasures_status check (status in ('RUNNING', 'DONE')),
  -- For people: users and keys may be deleted later.
  created_by text not null,
  -- Unix milliseconds.
  created_at bigint not null,
  finished_at bigint,
  -- How many events are concerned, once counted, and how many are erased.
  total bigint,
  erased bigint not null default 0,
  -- The cursor of the present pass over the events of the correlation id, and how many it has erased. The last pass erases none.
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

-- The outbox of operational events: written by the statement of the change, removed by the transaction that creates the items, so that
-- none is lost or sent twice.
create table operational_events (
  id uuid not null default gen_random_uuid(),
  org_id uuid not null,
  type text not null,
  -- The target, and the first of the events concerned.
  target_id uuid not null,
  event_ids uuid[],
  count integer not null
    constraint operational_events_count check (count > 0),
  -- The service's own text; never text of a client or a receiver.
  reason text,
  -- Unix milliseconds.
  at_ms bigint not null,
  constraint operational_events_pkey primary key (id)
);
create index operational_events_subject on operational_events (org_id, type, target_id, at_ms);

-- Until when operational events of a subject are gathered into one.
create table notification_paces (
  org_id uuid not null,
  type text not null,
  target_id uuid not null,
  -- Unix milliseconds.
  next_at_ms bigint not null,
  constraint notification_paces_pkey primary key (org_id, type, target_id)
);

-- Usage and billing --

-- The usage ledger: one row per organization and batch of newly accepted items, written in their transaction and folded into
-- usage_totals by maintenance. The number of accepted items is the sum over both tables, read in one statement.
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
-- A cell may be copied to another server row by row: logical replication then names a folded row as a whole. A primary key would
-- do the same and made an acceptance up to 9 % dearer. The same holds for the other tables with this replica identity.
alter table usage_records replica identity full;

create table usage_totals (
  org_id uuid not null,
  period integer not null,
  items bigint not null,
  primary key (org_id, period)
);

-- Changes of organizations' billing states. The end of a grace period is recorded by maintenance, dated at the moment it ended.
create table billing_state_changes (
  id bigint generated always as identity primary key,
  org_id uuid not null references organizations,
  -- Null for the state that the organization began with.
  from_status text check (from_status in ('pending', 'active', 'grace', 'suspended', 'exempt')),
  to_status text not null check (to_status in ('pending', 'active', 'grace', 'suspended', 'exempt')),
  -- 'signup', 'operator …', 'stripe evt_…' or 'grace ended'.
  cause text not null,
  -- Unix seconds.
  changed_at bigint not null
);
create index billing_state_changes_org on billing_state_changes (org_id, id);

-- The payment processor's customer of an organization. Nothing is exported without a row.
create table billing_accounts (
  org_id uuid primary key references organizations,
  customer_id text unique,
  checkout_session_id text,
  -- Parts of the idempotency keys of the next requests. They grow after a final answer, because the processor repeats its answer to a
  -- key, failures included.
  customer_attempt integer not null default 1,
  checkout_attempt integer not null default 1,
  subscription_id text,
  -- Unix seconds; usage dated before a subscription began is on no invoice.
  subscribed_at bigint,
  -- As last read from the processor: paying, an invoice failed, or the subscription has ended.
  standing text check (standing in ('paying', 'failing', 'ended')),
  has_payment_method boolean not null default false,
  -- The first month that is exported, as year × 100 + month; null until there was a subscription.
  export_from integer,
  -- Grows with every update from the processor, so that an older reading cannot overwrite a newer one.
  version bigint not null default 0,
  check ((export_from is null) = (subscribed_at is null))
);

-- Progress of the export of each month's ledger. Waived items were accepted while the organization was exempt.
create table meter_counters (
  org_id uuid not null references organizations,
  period integer not null,
  batches integer not null default 0,
  batched bigint not null default 0,
  exported bigint not null default 0,
  waived bigint not null default 0,
  primary key (org_id, period),
  check (exported between 0 and batched),
  check (waived >= 0)
);

-- Batches of usage for the processor's meter: stored before they are sent, and sent again unchanged.
--
--   open ── confirmed, a duplicate, or found in the summary ──► exported
--     └──── too old, or the summary decides neither way ───────► attention ── operator ──► open, exported
create table meter_batches (
  -- Unique at the processor: postrider-<organization>-<month>-<number>.
  identifier text primary key check (length(identifier) <= 100),
  org_id uuid not null references organizations,
  customer_id text not null,
  period integer not null,
  value bigint not null check (value > 0),
  -- Unix seconds, inside the month.
  event_timestamp bigint not null,
  status text not null default 'open' check (status in ('open', 'exported', 'attention')),
  created_at bigint not null,
  attempts integer not null default 0,
  -- Unix seconds. From unsafe_at on the processor may have forgotten the identifier, so that sending again
  -- could count the batch twice: the meter's summary is read first.
  due_at bigint not null,
  unsafe_at bigint not null,
  settled_at bigint,
  settled_by text check (settled_by in ('confirmed', 'duplicate', 'summary', 'operator')),
  last_error text,
  check ((status = 'exported') = (settled_at is not null)),
  check ((settled_at is null) = (settled_by is null))
);
-- One batch at a time per customer.
create unique index meter_batches_open on meter_batches (customer_id)
  where status = 'open';
create index meter_batches_org on meter_batches (org_id, period);

-- Draft invoices that must not be finalized before the month's usage is exported.
create table held_invoices (
  invoice_id text primary key,
  org_id uuid not null references organizations,
  period integer not null,
  held_at bigint not null,
  released_at bigint
);
create index held_invoices_open on held_invoices (period)
  where released_at is null;

-- Webhook events of the processor, once each, with only what is needed to read the current state from its interface.
create table billing_events (
  id text primary key,
  type text not null,
  customer_id text not null,
  object_id text not null,
  -- Unix seconds.
  received_at bigint not null,
  due_at bigint not null,
  attempts integer not null default 0,
  processed_at bigint,
  last_error text
);
create index billing_events_due on billing_events (due_at)
  where processed_at is null;
create index billing_events_processed on billing_events (processed_at)
  where processed_at is not null;

-- Processes --

-- The processes of this database: one row for each, from its start until a day after it was last seen. The SQL functions of a version
-- are dropped when no row names them.
create table processes (
  id uuid not null,
  version text not null,
  host text not null,
  -- The last migration that the process knows.
  migration integer not null,
  -- The schema of its SQL functions.
  functions text not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- Set at a graceful stop.
  ended_at timestamptz,
  constraint processes_pkey primary key (id)
);
