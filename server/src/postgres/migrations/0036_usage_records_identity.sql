-- So that a cell can be copied to another server row by row: where replication is logical, a row that is folded is named as a
-- whole. A primary key would do the same at once for who deletes, and made an acceptance up to 9 % dearer. Each table has a
-- migration of its own, so that none is locked while another is waited for.
alter table usage_records replica identity full;
