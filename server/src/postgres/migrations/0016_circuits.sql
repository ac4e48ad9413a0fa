-- Circuits that nodes have opened, so that every node can tell: one row for each node and target, written when one opens
-- and removed when it closes. A row whose moment is long past is of a node that died, or of a target nothing is due for.
create table open_circuits (
  bucket smallint not null,
  target_id uuid not null,
  node_id uuid not null,
  -- Unix milliseconds: until then the node sends nothing to the target; then one request tries it.
  open_until bigint not null,
  primary key (bucket, target_id, node_id)
);
