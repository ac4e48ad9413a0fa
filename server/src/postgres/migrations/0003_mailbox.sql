-- Mailboxes: messages that consumers claim, and what became of them. A message shares its item's id; its payload
-- stays in `events`. Retention is counted from the moment in the id.

-- How many claims a message of the mailbox may take before it counts as poison; null means any number.
alter table targets
  add column max_claims integer check (max_claims between 1 and 1000),
  add check (max_claims is null or kind = 'mailbox');

-- The order of acceptance. Ids cannot give it: they carry the clocks of nodes, which disagree.
create sequence message_positions;

-- What is neither acknowledged nor dead nor expired: narrow, no payload, deleted at the end.
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
-- Only new messages are ready, so that they come and go in the order of their positions. What is claimable and
-- behind an earlier message of its ordering key is parked by the claim that meets it.
-- What a row means is computed from its moments: a claim that has lapsed is as good as returned although its state
-- still says claimed, and whoever claims next moves it.
create table messages (
  bucket smallint not null,
  state smallint not null default 1,
  claim_count integer not null default 0,
  -- Bytes of the payload, so that what one claim answers can be bounded.
  size integer not null default 0,
  mailbox_id uuid not null,
  id uuid not null,
  position bigint not null default nextval('message_positions'),
  -- Unix milliseconds at which a message that is not ready becomes claimable again.
  claimable_at bigint,
  -- The API key and the secret of the present claim; only both together change a claimed message.
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
-- A row is in exactly one of these two: claims walk the ready ones in order, and find in the other what has
-- become claimable, however many are leased.
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

-- What a Claim-Id was answered, so that a repeated request gets the same claim. Kept past the end of the lease.
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

-- The ledger behind the live view: one row per mailbox and batch, folded into minutes by maintenance. How many
-- messages a mailbox holds is the sum of `held` over both, in one statement.
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
create index mailbox_activity_mailbox on mailbox_activity (bucket, mailbox_id);

create table mailbox_minutes (
  bucket smallint not null,
  -- 0 holds the sum of all minutes that are no longer kept apart.
  minute integer not null,
  mailbox_id uuid not null,
  accepted bigint not null,
  acknowledged bigint not null,
  held bigint not null,
  primary key (bucket, mailbox_id, minute)
);
