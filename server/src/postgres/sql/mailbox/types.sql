-- The common part of the messages that one request claimed, or the request's other outcome.
create type claim_head as (
  -- The request's 1-based number.
  request integer,
  -- claimed; repeated: its Claim-Id was answered before, and what is still claimed of that follows; unauthorized;
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
  -- When an empty request should ask again as far as the transaction could tell: 0 when something is claimable that it
  -- had to pass over, null while nothing waits.
  retry_in_ms bigint,
  -- How far the ready messages have been claimed; 0 when some had to be passed over.
  walked_to bigint
);

-- Messages that a claim has locked, in order.
create type chosen_messages as (
  -- Null where there are none.
  ids uuid[],
  -- Their ordering keys, and whether there is one that is not null.
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
  -- How many are wanted still, when narrow_choice has narrowed that.
  room integer,
  -- There are no more.
  is_last boolean,
  -- Other transactions hold some that would have come with these.
  is_busy boolean,
  -- Others than these, perhaps before them, became claimable.
  is_restarted boolean,
  -- The bytes allow no more than `room`.
  is_cut boolean
);

-- A message that close_messages has deleted and not yet written down as closed, with its number among the parameters.
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
