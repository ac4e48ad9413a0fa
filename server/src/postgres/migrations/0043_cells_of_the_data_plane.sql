-- Changes nothing: processes that know it know that the data plane may be divided into cells. Where it is, this migration is marked as
-- one that processes need (postgres/ensureCells.ts), because older ones would accept items into tables that nobody reads.
select 1;
