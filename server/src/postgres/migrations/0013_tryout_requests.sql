-- What was delivered to targets whose receiver is the service itself: the last requests of each, for its owner to see.
create table tryout_requests (
  target_id uuid not null
    constraint tryout_requests_target references targets on delete cascade,
  -- UUIDv7: in the order of arrival.
  id uuid not null,
  event_id uuid not null,
  -- JSON: [[name, value], …] in the order in which they were sent.
  headers text not null,
  -- The first bytes; size tells how many there were.
  body bytea not null,
  size integer not null
    constraint tryout_requests_size check (size >= length(body)),
  is_verified boolean not null,
  answered smallint not null
    constraint tryout_requests_answered check (answered between 200 and 599),
  constraint tryout_requests_pkey primary key (target_id, id)
);

create index targets_tryout on targets (url) where starts_with(url, 'https://tryout.postrider.invalid/');
