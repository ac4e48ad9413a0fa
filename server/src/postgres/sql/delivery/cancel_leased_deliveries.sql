-- Cancels the leased deliveries of one target, in the transaction that deletes the target. The lease tokens are deleted with
-- the rows, so that attempts in progress change nothing when they end. Rows that another transaction has locked are skipped:
-- that transaction is finishing them, and waiting for it could cause a deadlock.
create function cancel_leased_deliveries(
  p_bucket smallint,
  p_target uuid
)
returns integer language plpgsql as $$
declare
  v_ids uuid[];
begin
  v_ids := array(
    select d.id
    from deliveries d
    where d.bucket = p_bucket
      and d.target_id = p_target
      and d.lease_until is not null
    for update skip locked
  );
  return cancel_locked_deliveries(p_bucket, p_target, v_ids);
end
$$;
