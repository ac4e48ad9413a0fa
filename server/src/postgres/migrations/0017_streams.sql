-- Which node has streams of which organization open, so that the others tell it what they see. A row lapses when its
-- node stops renewing it.
create unlogged table stream_watches (
  org_id uuid not null,
  node_id text not null,
  -- Unix milliseconds.
  until_ms bigint not null,
  primary key (org_id, node_id)
);
