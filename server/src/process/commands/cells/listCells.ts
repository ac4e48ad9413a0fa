import type pg from "pg";
import type { Config } from "../../../config/config.ts";
import type { Cell } from "../../../postgres/cells.ts";
import { hasDistributedCells } from "../../../postgres/ensureCells.ts";
import { placedCells, placeOfServer, readLoad } from "../../../postgres/placement/workers.ts";
import { tablesOfCells } from "../../../postgres/tablePlaces.ts";
import { createLog } from "../../../telemetry/log.ts";
import type { Talk } from "../command.ts";
import { openForCommand } from "../../database/openDatabase.ts";

/** Shows the cells of the data plane: where each is, how much is in it, and on several servers also how much it has to do. */
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
  /** The first and the last, in hexadecimal as ids end in it. */
  buckets: string;
  schema: string;
  server: string;
  bytes: number;
  /** Rows of deliveries that are due and that nobody works on, those of disabled targets among them; counted up to 100,000. */
  rows_due: number;
  /** Rows inserted, updated and deleted per second; only on several servers. */
  rows_per_second?: number;
}

/** PostgreSQL's counters follow a busy session by up to a second. */
const measuredMs = 3_000;

/** The coordinator has only empty tables in place of the cells'. */
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
