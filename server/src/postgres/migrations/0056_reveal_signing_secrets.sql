-- Whether admins may read signing secrets again after they were made. Off: they are shown once, at creation and at rotation.
alter table organizations
  add column secrets_can_be_revealed boolean not null default false;
