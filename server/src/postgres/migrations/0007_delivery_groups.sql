-- A row of `deliveries` stands for items of one target that are due together: up to 64 that came in one batch and were
-- not tried yet, later a single one. One row, one lease and four index entries then serve many items.
--
-- Each item that waits is named by exactly one row. Items leave their row when they are done, or for a row of their own
-- when they are to be retried. A row of a single item from its beginning, and every row of an item that was tried, has
-- the item's id; a row of several has an id of its own.
drop index deliveries_listed;
alter table deliveries rename column event_id to id;
alter table deliveries add column event_ids uuid[];
update deliveries set event_ids = array[id];
alter table deliveries
  -- Ascending. All of one 1,024 ms of their ids' clocks, and so of one day; within a row, never compressed or apart.
  alter column event_ids set not null,
  alter column event_ids set storage plain,
  alter column event_ids set statistics 0,
  drop constraint deliveries_kind_check,
  drop constraint deliveries_check,
  drop constraint deliveries_check1,
  -- One constraint for all: each one costs every statement a few microseconds.
  add constraint deliveries_state check (
    kind in (1, 3)
    and (lease_until is null) = (lease_token is null)
    and schedule_attempts between 0 and attempts
    and cardinality(event_ids) between 1 and 64
    and (attempts = 0 or event_ids = array[id])
  );

-- Lists what is QUEUED or RETRYING, newest first, however large the backlog is. What is dispatched from memory and
-- delivered at once is never in it.
create index deliveries_listed on deliveries (
  bucket, target_id, least(attempts, 1), (event_ids[cardinality(event_ids)])
)
  where lease_until is null;

alter table attempts
  drop constraint attempts_number_check,
  drop constraint attempts_outcome_check,
  drop constraint attempts_check,
  add constraint attempts_state check (
    number > 0
    and outcome in (1, 2, 3)
    and (outcome = 1) = (error is null)
  ) not valid;
