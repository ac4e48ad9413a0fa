-- Who uses this database: one row for each process, from its start until a day after it was last seen. The functions of
-- a version are dropped when no row names them.
create table processes (
  id uuid not null,
  version text not null,
  host text not null,
  -- The last migration that it came with.
  migration integer not null,
  -- The schema of the functions that it calls.
  functions text not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- Set when it stopped by itself.
  ended_at timestamptz,
  constraint processes_pkey primary key (id)
);
