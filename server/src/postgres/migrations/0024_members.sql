-- What the users of an organization may do, and invitations to become one.

-- Wider than it was, so whoever wrote admins still can. Older processes let every user do everything, though: the first
-- user who is to be less than an admin keeps them away, see `keepOlderProcessesAway`.
alter table users
  drop constraint users_role_check,
  add constraint users_role check (role in ('admin', 'member', 'viewer'));

-- On Citus a reference table.
create table invitations (
  id uuid not null,
  org_id uuid not null references organizations,
  role text not null,
  -- For whom it is; null for whoever has the link.
  email text,
  -- SHA-256 of the token.
  token_hash bytea not null,
  -- The user, who may be gone by now.
  created_by uuid not null,
  -- Unix seconds, as everything else here.
  created_at bigint not null,
  expires_at bigint not null,
  accepted_at bigint,
  -- The user who came of it.
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
