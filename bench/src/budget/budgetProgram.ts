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
 * Measures all paths on the PostgreSQL whose connection is its only argument, and prints the costs as JSON. It is a separate
 * process because it needs the V8 flags that make allocations repeatable.
 */
const connection = JSON.parse(process.argv[2]!) as Exclude<DatabaseConnection, { url: string }>;
const maker = openPool(2);
await migrate(maker);
await maker.end();
// One connection: a second one would open at a different time in each run, and with it a statement creates fewer timers, so that
// allocations would differ.
const pool = openPool(1);
const observer = new pg.Client(connection);
await observer.connect();
const world = await createWorld(pool);
const costs: Record<string, Cost> = {};
// Deliveries first: the other paths leave items that are due.
await measure(await deliveryPaths(world));
await measure([await handoffPath(world), ...(await mailboxPaths(world)), ...(await acceptancePaths(world))]);
// Created last: the service closes a connection that has had no request for a minute.
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
