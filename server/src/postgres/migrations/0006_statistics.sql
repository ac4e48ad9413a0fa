-- What ANALYZE reads of a table is 300 times the largest target of its columns. The rows of these tables live for
-- seconds, and their statements are planned once, for any value: a tenth of the sample says enough.
alter table events alter column payload set statistics 0;

alter table deliveries
  alter column bucket set statistics 10,
  alter column kind set statistics 10,
  alter column attempts set statistics 10,
  alter column schedule_attempts set statistics 10,
  alter column event_id set statistics 10,
  alter column target_id set statistics 10,
  alter column org_id set statistics 10,
  alter column due_at set statistics 10,
  alter column lease_until set statistics 10,
  alter column lease_token set statistics 10;

alter table messages
  alter column bucket set statistics 10,
  alter column state set statistics 10,
  alter column claim_count set statistics 10,
  alter column size set statistics 10,
  alter column mailbox_id set statistics 10,
  alter column id set statistics 10,
  alter column position set statistics 10,
  alter column claimable_at set statistics 10,
  alter column claimed_by set statistics 10,
  alter column claim_token set statistics 10,
  alter column ordering_key set statistics 10;
