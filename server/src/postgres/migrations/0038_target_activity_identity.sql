-- As that of usage_records.
alter table target_activity replica identity full;
