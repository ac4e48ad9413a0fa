-- The control plane: who may do what. Small tables, read by every statement of the data plane.
-- On Citus these are reference tables.

create table organizations (
  id uuid primary key,
  name text not null,
  slug text not null unique,
  billing_status text not null
    check (billing_status in ('pending', 'active', 'grace', 'suspended', 'exempt')),
  -- Unix seconds; grace ends by the clock, so a lapsed grace reads as suspended without a sweep.
  billing_grace_ends_at bigint,
  created_at bigint not null,
  check ((billing_status = 'grace') = (billing_grace_ends_at is not null))
);

create table users (
  id uuid primary key,
  org_id uuid not null references organizations,
  email text not null,
  -- The address as compared: trimmed and lower-cased.
  email_key text not null unique,
  name text not null,
  role text not null check (role in ('admin')),
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

create table api_keys (
  id uuid primary key,
  org_id uuid not null references organizations,
  name text not null,
  -- SHA-256 of the key.
  key_hash bytea not null unique,
  -- The first 12 characters, all that a list shows.
  prefix text not null,
  created_at bigint not null,
  last_used_at bigint
);
create index api_keys_org on api_keys (org_id, created_at);

-- Attempts of a client address in its present window, for signup and login; counted here so that limits hold across
-- nodes and restarts. A window begins with the first attempt, in Unix seconds.
create table rate_limits (
  scope text not null,
  subject text not null,
  window_start bigint not null,
  hits integer not null,
  primary key (scope, subject)
);
create index rate_limits_window on rate_limits (window_start);

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
  -- Grows with every change, so that a node knows whether the copy it holds is current.
  version bigint not null default 1,
  created_at bigint not null,
  updated_at bigint not null,
  check ((kind = 'mailbox') = (url is null)),
  check ((kind = 'webhook') = (secret is not null)),
  check (previous_secret is null or secret is not null),
  check (disabled_reason is null or not enabled)
);
create index targets_org on targets (org_id, id);
