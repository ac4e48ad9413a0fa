-- Returns null if a caller may submit items, otherwise the code that intake answers with: u unknown credential, s suspended,
-- p pending. p_caller is null when no credential was found. The function is an expression of its parameters only, so that the
-- planner inlines it.
create function intake_refusal(p_caller uuid, p_status text, p_grace_ends_at bigint, p_now_ms bigint)
returns text language sql immutable as $$
  select
    case
      when p_caller is null then 'u'
      else
        case billing_state(p_status, p_grace_ends_at, p_now_ms)
          when 'suspended' then 's'
          when 'pending' then 'p'
        end
    end
$$;
