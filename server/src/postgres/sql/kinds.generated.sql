-- Generated from postgres/kinds.ts by `npm run generated`. All functions depend only on their parameter, so
-- that the planner inlines them.

-- The number of a kind in events.kind and deliveries.kind.
create function kind_number(p_kind text)
returns smallint language sql immutable as $$
  select (case p_kind when 'webhook' then 1 when 'mailbox' then 2 when 'a2a' then 3 end)::smallint
$$;

-- Whether consumers claim items of this kind; items of other kinds are delivered.
create function is_pulled(p_kind smallint)
returns boolean language sql immutable as $$
  select p_kind in (2)
$$;

-- All kinds for which is_pulled returns true.
create function pulled_kinds()
returns smallint[] language sql immutable as $$
  select '{2}'::smallint[]
$$;

-- Whether an item of this kind becomes a task of an agent, which is followed to its end. Such targets get no items that the
-- service creates (operational events, results of tasks), so that two agents cannot trigger each other endlessly.
create function is_handoff(p_kind smallint)
returns boolean language sql immutable as $$
  select p_kind in (3)
$$;
