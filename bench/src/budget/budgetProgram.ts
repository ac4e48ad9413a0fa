import pg from "pg";
import { migrate } from "../../../server/src/postgres/migrate.ts";
import { createPool, type DatabaseConnection } from "../../../server/src/postgres/pool.ts";
import { acceptancePaths } from "./acceptancePaths.ts";
import { handoffPath, mailboxPaths } from "./consumerPaths.ts";
import { type Cost, costOf } from "./counters.ts";
import { deliveryPaths } from "./deliveryPaths.ts";
import type { Path } from "./path.ts";
import { requestPaths } from "./requestPaths.ts";
import { createWorld } from "./world.ts";

/*
 * Measures all paths on the PostgreSQL of its only argument and prints the costs as JSON. A process of its own, for
 * the flags that make allocations repeatable.
 */
const connection = JSON.parse(process.argv[2]!) as Exclude<DatabaseConnection, { url: string }>;
const maker = openPool(2);
await migrate(maker);
await maker.end();
// One connection: with a second one, opened at a moment of its own in each run, a statement makes fewer timers.
const pool = openPool(1);
const observer = new pg.Client(connection);
await observer.connect();
const world = await createWorld(pool);
const costs: Record<string, Cost> = {};
// Deliveries first: the others leave items that are due.
await measure(await deliveryPaths(world));
await measure([await handoffPath(world), ...(await mailboxPaths(world)), ...(await acceptancePaths(world))]);
// Only now: a connection without a request is closed after a minute.
const requests = await requestPaths(world);
await measure(requests.paths);
await requests.stop();
await pool.end();
await observer.end();
process.stdout.write(JSON.stringify(costs));

function openPool(size: number): pg.Pool {
  const onError = (error: Error): void => {
    throw error;
  };
  return createPool({ connection, size, onError });
}

async function measure(paths: readonly Path[]): Promise<void> {
  for (const path of paths) costs[path.name] = await costOf(path, pool, readWal);
}

async function readWal(): Promise<number> {
  const { rows } = await observer.query<{ bytes: string }>(
    "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes",
  );
  return Number(rows[0]!.bytes);
}
