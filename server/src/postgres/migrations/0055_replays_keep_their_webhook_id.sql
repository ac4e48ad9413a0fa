-- The webhook-id of a replay's deliveries: that of the event which it repeats, through replays of replays. Null where it is the
-- event's own id, as for all events that are no replays.
alter table events
  add column webhook_id uuid;
-- Whether the events of a replay of many get a webhook-id of their own.
alter table replays
  add column new_webhook_id boolean not null default false,
  -- Whether a replay of failures also takes those that were replayed since.
  add column include_replayed boolean not null default false;
