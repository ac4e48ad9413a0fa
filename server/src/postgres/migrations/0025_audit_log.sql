-- Who changed what, from where: written in the transaction of the change itself. Its moment is that of its id. No row is
-- ever updated, and none holds a secret. On Citus a reference table.
create table audit_log (
  id uuid not null,
  -- Null for a refused login at an address that has no account.
  org_id uuid references organizations,
  action text not null,
  actor_kind text not null,
  -- A user or an API key, which may be gone by now.
  actor_id uuid,
  -- What it was called then: a user's address, a key's name, an operator's login.
  actor_name text,
  object_kind text not null,
  object_id uuid,
  object_name text,
  -- What differs, by the names of the interface; null where there was or is nothing.
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
