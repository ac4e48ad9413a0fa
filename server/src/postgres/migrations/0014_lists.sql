-- Indexes for lists that would walk otherwise. On the parents only, which locks nothing for long: partitions that are
-- made from now on have them, and maintenance builds them on those that exist, without keeping anybody from writing.

-- Events of one type, newest first.
create index events_type on only events (org_id, event_type collate "C", id)
  where event_type is not null;

-- What of one target is DELIVERED, newest first; of those that were delivered with others, the primary key of
-- `delivered_groups` does the same. An attempt is here or in `attempts_failed`, as in `attempts_delivered`.
create index attempts_delivered_target on only attempts (target_id, event_id)
  where outcome = 1;

-- Dead messages, newest first; `closed_messages_dead` has them in the order of acceptance.
create index closed_messages_dead_newest on only closed_messages (bucket, mailbox_id, id)
  where dead;

-- Handoffs by the state of their task, or by their outcome where there was none, newest first.
create index handoffs_state on only handoffs (org_id, coalesce(state, outcome), event_id)
  where coalesce(state, outcome) is not null;
create index handoffs_state_target on only handoffs (target_id, coalesce(state, outcome), event_id)
  where coalesce(state, outcome) is not null;
