-- As that of usage_records.
alter table mailbox_activity replica identity full;
