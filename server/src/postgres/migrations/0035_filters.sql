-- Which items a target gets, beside their types: a pattern over payload and metadata, which the service evaluates before it
-- stores an item. Null for all.
alter table targets
  -- JSON, as it was checked.
  add column filter text,
  -- Names the text: the service says which filter an item was judged by.
  add column filter_digest uuid;
