-- Usage that becomes money. Small tables, apart from the ledger of 0002 that they read; on Citus reference tables.

-- Each change of an organization's billing state, with its cause. A grace that ended by the clock is written
-- down when maintenance comes by, dated at the moment it ended.
create table billing_state_changes (
  id bigint generated always as identity primary key,
  org_id uuid not null references organizations,
  -- Null for the state that the organization began with.
  from_status text check (from_status in ('pending', 'active', 'grace', 'suspended', 'exempt')),
  to_status text not null check (to_status in ('pending', 'active', 'grace', 'suspended', 'exempt')),
  -- 'signup', 'operator …', 'stripe evt_…' or 'grace ended'.
  cause text not null,
  -- Unix seconds.
  changed_at bigint not null
);
create index billing_state_changes_org on billing_state_changes (org_id, id);

-- What the payment processor knows of an organization. No row, no customer: nothing is exported.
create table billing_accounts (
  org_id uuid primary key references organizations,
  customer_id text unique,
  checkout_session_id text,
  -- Parts of the idempotency keys of the next request; they grow once the processor has given its final answer
  -- to the present one, because it would repeat that answer, a failure included.
  customer_attempt integer not null default 1,
  checkout_attempt integer not null default 1,
  subscription_id text,
  -- Unix seconds; usage dated before a subscription began is on no invoice.
  subscribed_at bigint,
  -- The processor's view as last read: it pays, its invoice failed, or its subscription is over.
  standing text check (standing in ('paying', 'failing', 'ended')),
  has_payment_method boolean not null default false,
  -- The first month that is exported, as year × 100 + month; null until there was a subscription.
  export_from integer,
  -- Grows with every reading of the processor that was applied, so that an older reading cannot undo it.
  version bigint not null default 0,
  check ((export_from is null) = (subscribed_at is null))
);

-- How far each month's ledger is exported. Waived items were accepted while the organization was exempt.
create table meter_counters (
  org_id uuid not null references organizations,
  period integer not null,
  batches integer not null default 0,
  batched bigint not null default 0,
  exported bigint not null default 0,
  waived bigint not null default 0,
  primary key (org_id, period),
  check (exported between 0 and batched),
  check (waived >= 0)
);

-- What was or will be told to the processor's meter: written before it is sent, and sent again unchanged.
--
--   open ── confirmed, a duplicate, or found in the summary ──► exported
--     └──── too old, or the summary fits neither story ───────► attention ── operator ──► open, exported
create table meter_batches (
  -- Unique at the processor: postrider-<organization>-<month>-<number>.
  identifier text primary key check (length(identifier) <= 100),
  org_id uuid not null references organizations,
  customer_id text not null,
  period integer not null,
  value bigint not null check (value > 0),
  -- Unix seconds, inside the month.
  event_timestamp bigint not null,
  status text not null default 'open' check (status in ('open', 'exported', 'attention')),
  created_at bigint not null,
  attempts integer not null default 0,
  -- Unix seconds. From unsafe_at on the processor may have forgotten the identifier, so that sending the batch
  -- again could count it twice: the meter's summary is asked first.
  due_at bigint not null,
  unsafe_at bigint not null,
  settled_at bigint,
  settled_by text check (settled_by in ('confirmed', 'duplicate', 'summary', 'operator')),
  last_error text,
  check ((status = 'exported') = (settled_at is not null)),
  check ((settled_at is null) = (settled_by is null))
);
-- One batch at a time per customer.
create unique index meter_batches_open on meter_batches (customer_id)
  where status = 'open';
create index meter_batches_org on meter_batches (org_id, period);

-- Drafts of a month's invoice that must not become final before the month's usage is at the processor.
create table held_invoices (
  invoice_id text primary key,
  org_id uuid not null references organizations,
  period integer not null,
  held_at bigint not null,
  released_at bigint
);
create index held_invoices_open on held_invoices (period)
  where released_at is null;

-- Notices of the processor, once each. Only what is needed to read the truth from its interface is kept.
create table billing_events (
  id text primary key,
  type text not null,
  customer_id text not null,
  object_id text not null,
  -- Unix seconds.
  received_at bigint not null,
  due_at bigint not null,
  attempts integer not null default 0,
  processed_at bigint,
  last_error text
);
create index billing_events_due on billing_events (due_at)
  where processed_at is null;
create index billing_events_processed on billing_events (processed_at)
  where processed_at is not null;
