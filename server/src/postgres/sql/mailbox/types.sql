-- The common part of the messages that one request claimed, or the request's other outcome.
create type claim_head as (
  -- The request's 1-based number.
  request integer,
  -- claimed; repeated: its Claim-Id was answered before, and the messages that are still claimed follow; unauthorized;
  -- not_found: the key's organization has no such mailbox.
  outcome text,
  claimed_by uuid,
  claim_token uuid,
  -- Unix milliseconds.
  lease_until bigint
);

-- The messages that a claim left in a mailbox.
create type mailbox_rest as (
  mailbox_id uuid,
  -- How many messages are ready and how many claimed, each counted up to 100.
  ready integer,
  claimed integer,
  -- Milliseconds after which a request that got nothing should ask again: 0 when claimable messages had to be skipped, null
  -- when no message waits.
  retry_in_ms bigint,
  -- The position up to which ready messages have been claimed; 0 when some had to be skipped.
  walked_to bigint
);

-- Messages that a claim has locked, in order.
create type chosen_messages as (
  -- Null when no message was chosen.
  ids uuid[],
  -- Their ordering keys, and whether any of these is not null.
  keys text[],
  is_keyed boolean,
  -- Bytes of their payloads.
  bytes bigint,
  positions bigint[],
  -- Bounds of their ids.
  low_id uuid,
  high_id uuid,
  -- The position from which to look for more; 0 when that is not known.
  walked_to bigint,
  -- Number of messages still wanted, set by narrow_choice.
  room integer,
  -- No more claimable messages follow.
  is_last boolean,
  -- Other transactions have locked messages that would belong to the choice.
  is_busy boolean,
  -- Other messages became claimable, possibly before these.
  is_restarted boolean,
  -- The bound on bytes allows no more than `room` messages.
  is_cut boolean
);

-- A message that close_messages has deleted and not yet inserted into closed_messages; number is its index in the parameters.
create type closing_message as (
  number integer,
  bucket smallint,
  claim_count integer,
  mailbox_id uuid,
  id uuid,
  position bigint,
  claimed_by uuid,
  claim_token uuid,
  ordering_key text,
  reason text
);
