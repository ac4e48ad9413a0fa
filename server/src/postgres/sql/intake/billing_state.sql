-- The billing state of an organization at a moment: a grace period that has ended reads as suspended, whether or not the
-- chore has stored it yet. The function is an expression of its parameters only, so that the planner inlines it.
create function billing_state(p_status text, p_grace_ends_at bigint, p_now_ms bigint)
returns text language sql immutable as $$
  select case when p_status = 'grace' and p_grace_ends_at <= p_now_ms / 1000 then 'suspended' else p_status end
$$;
