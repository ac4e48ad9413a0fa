import pg from "pg";
import { migrate } from "../../../server/src/postgres/migrate.ts";
import { createPool, type DatabaseConnection } from "../../../server/src/postgres/pool.ts";
import { acceptancePaths } from "./acceptancePaths.ts";
import { handoffPath, mailboxPaths } from "./consumerPaths.ts";
import { type Cost, costOf } from "./counters.ts";
import { deliveryPaths } from "./deliveryPaths.ts";
import { requestPaths as createRequestPaths } from "./requestPaths.ts";
import { createWorld } from "./world.ts";

/*
 * Measures all paths on the PostgreSQL of its only argument and prints the costs as JSON. A process of its own, for
 * the flags that make allocations repeatable.
 */
const connection = JSON.parse(process.argv[2]!) as Exclude<DatabaseConnection, { url: string }>;
const pool = createPool({
  connection,
  size: 2,
  onError: (error) => {
    throw error;
  },
});
const observer = new pg.Client(connection);
await observer.connect();
await migrate(pool);
const world = await createWorld(pool);
const { paths: requestPaths, stop } = await createRequestPaths(world);
// Deliveries first: the others leave items that are due.
const paths = [
  ...(await deliveryPaths(world)),
  await handoffPath(world),
  ...(await mailboxPaths(world)),
  ...(await acceptancePaths(world)),
  ...requestPaths,
];
const costs: Record<string, Cost> = {};
for (const path of paths) costs[path.name] = await costOf(path, pool, readWal);
await stop();
await pool.end();
await observer.end();
process.stdout.write(JSON.stringify(costs));

async function readWal(): Promise<number> {
  const { rows } = await observer.query<{ bytes: string }>(
    "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes",
  );
  return Number(rows[0]!.bytes);
}
