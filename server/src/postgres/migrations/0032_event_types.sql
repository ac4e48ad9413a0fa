-- The catalogue of an organization's event types: what each means, and how its items look.

-- On Citus a reference table.
create table event_types (
  id uuid not null,
  org_id uuid not null references organizations,
  -- As items carry it; compared by its bytes.
  name text collate "C" not null,
  description text not null,
  "group" text not null,
  deprecated boolean not null,
  -- JSON as text, which keeps the order that its author gave it; null where there is none.
  schema text,
  example text,
  -- Unix seconds.
  created_at bigint not null,
  updated_at bigint not null,
  constraint event_types_pkey primary key (org_id, name),
  constraint event_types_id unique (id)
);
