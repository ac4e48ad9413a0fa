-- Headers of a target's own that each attempt carries. `headers` is JSON text: an array of names, each with its value or
-- with a sealed one. `header_set` is the target's version since which they are so; null: it has none.
alter table targets
  add column headers text,
  add column header_set integer;

-- What a target's headers were, for as long as attempts that carried them are kept.
create table target_header_sets (
  bucket smallint not null,
  target_id uuid not null,
  number integer not null,
  -- JSON text: an object of names and values, where secret ones are ***.
  headers text not null,
  -- Unix seconds; null while the target has them.
  replaced_at bigint,
  primary key (bucket, target_id, number)
);

-- Which of its target's sets of headers an attempt carried; null or 0: none.
alter table attempts add column header_set integer;
alter table delivered_groups add column header_sets integer[];
