-- The portal of customers: links to it, the sessions that come of them, and how an organization's looks.

-- On Citus reference tables. All of a customer's go with it.
create table portal_links (
  -- SHA-256 of the code, which works once.
  code_hash bytea not null,
  org_id uuid not null,
  customer_uid text collate "C" not null,
  -- In the order in which they were made; one second may hold several.
  id uuid not null,
  -- Unix seconds, as everything here.
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
  -- Null for the organization's own.
  name text,
  -- An https or data URL, which the service never reads.
  logo text,
  -- #rrggbb
  colour text,
  -- Whose pages may show the portal in a frame.
  origins text[] not null,
  constraint portal_settings_pkey primary key (org_id)
);

-- A customer changes things, too. Wider than it was, so whoever wrote the others still can; not validated, because what is
-- there satisfied the narrower one. Older processes do not list such entries: the first link keeps them away.
alter table audit_log
  drop constraint audit_log_actor,
  add constraint audit_log_actor check (
    case actor_kind
      when 'user' then actor_id is not null
      when 'key' then actor_id is not null
      when 'customer' then actor_id is not null
      when 'operator' then actor_id is null and actor_name is not null
      when 'service' then actor_id is null and actor_name is not null
      when 'unknown' then actor_id is null and actor_name is null
      else false
    end
  ) not valid;
