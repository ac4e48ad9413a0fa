-- Links that were mailed to people who have forgotten their password. A user has one at a time: a newer one takes its place.
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
