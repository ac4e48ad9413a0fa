import type pg from "pg";
import type { Config } from "../../../config/config.ts";
import type { Cell } from "../../../postgres/cells.ts";
import { placeOfServer, readPlacements } from "../../../postgres/cellServers.ts";
import { hasDistributedCells } from "../../../postgres/ensureCells.ts";
import { isDatabaseAway } from "../../../postgres/pool.ts";
import { placedCells, readLoad } from "../../../postgres/placement/workers.ts";
import { tablesOfCells } from "../../../postgres/tablePlaces.ts";
import { createLog } from "../../../telemetry/log.ts";
import type { Talk } from "../command.ts";
import { openForCommand } from "../../database/openDatabase.ts";

/** Shows the server, size and due rows of each cell of the data plane; with cells on several servers also their load. */
export async function listCells(config: Config, { say, show }: Talk): Promise<void> {
  const database = await openForCommand(config, createLog("error"), { command: "postrider db cells", say });
  try {
    const { pool, cells } = database;
    const isDistributed = await hasDistributedCells(pool);
    // At the same time, because each waits for a server that does not answer.
    const [lines, onServers] = await Promise.all([
      Promise.all(cells.all().map(describe)),
      isDistributed ? readServers(pool) : undefined,
    ]);
    show({ cells: onServers ? lines.map(onServers) : lines });
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
  /** Null, like the next two, if a server is unavailable and it could not be read. */
  bytes: number | null;
  /** Rows of deliveries that are due and not leased, including those of disabled targets; counted up to 100,000. */
  rows_due: number | null;
  /** Rows inserted, updated and deleted per second; only on several servers. */
  rows_per_second?: number | null;
}

/** For how long the load is measured. PostgreSQL's counters of a busy session lag by up to a second. */
const measuredMs = 3_000;

/** Reads the cells' servers, sizes and loads on the workers: the coordinator has only empty tables in their place. */
async function readServers(pool: pg.Pool): Promise<(cell: CellLine) => CellLine> {
  const [placements, placed, load] = await Promise.all([
    readPlacements(pool),
    unlessAway(placedCells(pool)),
    unlessAway(readLoad(pool, measuredMs)),
  ]);
  return (cell) => ({
    ...cell,
    server: placeOfServer(placements.get(cell.schema)!),
    bytes: placed?.find(({ schema }) => schema === cell.schema)?.bytes ?? null,
    rows_per_second: cell.rows_due === null ? null : (load?.get(cell.schema) ?? null),
  });
}

/** @returns null when a server is unavailable. */
async function unlessAway<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (isDatabaseAway(error)) return null;
    throw error;
  }
}

async function describe({ number, firstBucket, lastBucket, pool }: Cell): Promise<CellLine> {
  const [place, due] = await Promise.all([
    pool.query<Pick<CellLine, "schema" | "server" | "bytes">>(placeStatement, [tablesOfCells]),
    unlessAway(pool.query<{ count: number }>(dueStatement)),
  ]);
  const buckets = [firstBucket, lastBucket].map((bucket) => bucket.toString(16).padStart(2, "0")).join("–");
  return { cell: number, buckets, ...place.rows[0]!, rows_due: due && due.rows[0]!.count };
}

const placeStatement = `
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
    (select sum(pg_total_relation_size(relation))::bigint from stored) as bytes`;

const dueStatement = `
  select count(*)
  from (
    select 1
    from deliveries d
    where d.lease_until is null
      and d.due_at <= extract(epoch from clock_timestamp()) * 1000
    limit 100000
  ) due`;
