-- Whom an organization sends to: its own customers, by the names that it gives them, and the targets that belong to each;
-- and rotations that end by themselves.

-- On Citus a reference table.
create table customers (
  id uuid not null,
  org_id uuid not null references organizations,
  -- The organization's own name for it; compared by its bytes.
  uid text collate "C" not null,
  name text not null,
  metadata jsonb not null,
  -- Unix seconds.
  created_at bigint not null,
  updated_at bigint not null,
  constraint customers_pkey primary key (org_id, uid),
  constraint customers_id unique (id)
);

-- Null as every target has it that was made before, or is nobody's.
alter table targets
  add column uid text collate "C",
  add column customer_uid text collate "C",
  add column metadata jsonb,
  -- Unix seconds at which the previous secret ends by itself; null when its owner ends it.
  add column previous_secret_until bigint,
  add constraint targets_customer foreign key (org_id, customer_uid) references customers (org_id, uid);
create unique index targets_uid on targets (org_id, uid)
  where uid is not null;
create index targets_previous_secret on targets (previous_secret_until)
  where previous_secret_until is not null;
create index targets_of_customer on targets (org_id, customer_uid, id)
  where customer_uid is not null;
