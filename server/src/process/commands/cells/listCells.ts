import type pg from "pg";
import type { Config } from "../../../config/config.ts";
import type { Cell } from "../../../postgres/cells.ts";
import { hasDistributedCells } from "../../../postgres/ensureCells.ts";
import { placedCells, placeOfServer, readLoad } from "../../../postgres/placement/workers.ts";
import { tablesOfCells } from "../../../postgres/tablePlaces.ts";
import { createLog } from "../../../telemetry/log.ts";
import type { Talk } from "../command.ts";
import { openForCommand } from "../../database/openDatabase.ts";

/** Shows the server, size and due rows of each cell of the data plane; with cells on several servers also their load. */
export async function listCells(config: Config, { say, show }: Talk): Promise<void> {
  const database = await openForCommand(config, createLog("error"), { command: "postrider db cells", say });
  try {
    const cells: CellLine[] = [];
    for (const cell of database.cells.all()) cells.push(await describe(cell));
    show({
      cells: (await hasDistributedCells(database.pool)) ? await onServers(database.pool, cells) : cells,
    });
  } finally {
    await database.close();
  }
}

interface CellLine {
  cell: number;
  /** First and last bucket, in hexadecimal, as the last byte of an id is written. */
  buckets: string;
  schema: string;
  server: string;
  bytes: number;
  /** Rows of deliveries that are due and not leased, including those of disabled targets; counted up to 100,000. */
  rows_due: number;
  /** Rows inserted, updated and deleted per second; only on several servers. */
  rows_per_second?: number;
}

/** For how long the load is measured. PostgreSQL's counters of a busy session lag by up to a second. */
const measuredMs = 3_000;

/** Adds the cells' servers, sizes and loads on the workers: the coordinator has only empty tables in their place. */
async function onServers(pool: pg.Pool, cells: CellLine[]): Promise<CellLine[]> {
  const placed = new Map((await placedCells(pool)).map((cell) => [cell.schema, cell]));
  const load = await readLoad(pool, measuredMs);
  return cells.map((cell) => {
    const { bytes, ...server } = placed.get(cell.schema)!;
    return { ...cell, server: placeOfServer(server), bytes, rows_per_second: load.get(cell.schema) ?? 0 };
  });
}

async function describe({ number, firstBucket, lastBucket, pool }: Cell): Promise<CellLine> {
  const { rows } = await pool.query<Pick<CellLine, "schema" | "server" | "bytes" | "rows_due">>(statement, [
    tablesOfCells,
  ]);
  const buckets = [firstBucket, lastBucket].map((bucket) => bucket.toString(16).padStart(2, "0")).join("–");
  return { cell: number, buckets, ...rows[0]! };
}

const statement = `
  with table_of_cell as (
    select name::regclass as relation
    from unnest($1::text[]) as t (name)
  ),
  stored as (
    select relation from table_of_cell
    union all
    select i.inhrelid
    from table_of_cell t
    join pg_inherits i on i.inhparent = t.relation
  )
  select
    (
      select c.relnamespace::regnamespace::text
      from pg_class c
      where c.oid = 'events'::regclass
    ) as schema,
    coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'a local socket') as server,
    (select sum(pg_total_relation_size(relation))::bigint from stored) as bytes,
    (
      select count(*)
      from (
        select 1
        from deliveries d
        where d.lease_until is null
          and d.due_at <= extract(epoch from clock_timestamp()) * 1000
        limit 100000
      ) due
    ) as rows_due`;
