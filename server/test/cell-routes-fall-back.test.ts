import type pg from "pg";
import { expect } from "vitest";
import type { Config } from "../src/config/config.ts";
import { foldUsage } from "../src/billing/foldUsage.ts";
import { CellRoute } from "../src/postgres/cellRoute.ts";
import { cellSchemas } from "../src/postgres/cells.ts";
import { type Placement, readPlacements } from "../src/postgres/cellServers.ts";
import { newRootId } from "../src/postgres/ids.ts";
import { atServer, createPool, inTransaction } from "../src/postgres/pool.ts";
import { refuseTooManyConnections } from "../src/process/database/connectionRoom.ts";
import { foldActivity } from "../src/stats/foldActivity.ts";
import { citusUrl } from "./support/citus.ts";
import { startDatabaseProxy } from "./support/databaseProxy.ts";
import { databaseTest, file } from "./support/fixtures.ts";
import { cellCount, isPlain } from "./support/plain.ts";
import { until } from "./support/until.ts";

/* Calls of a cell while its server cannot be used, with placements that Citus does not have. */

const [schema] = cellSchemas(cellCount) as [string];

const it = databaseTest()
  .extend("options", file, ({ database: { connection } }) => ({
    connection,
    size: 2,
    isPlain,
    schema,
    onError: () => undefined,
  }))
  .extend("through", file, ({ options }, { onCleanup }) => ending(onCleanup, createPool(options)))
  .extend("placements", file, async ({ through }) => [...(await readPlacements(through)).values()])
  /** The server of the cell, and another server. */
  .extend("own", file, ({ placements }) => placements[0]!)
  .extend("other", file, ({ placements }) => placements[1]!)
  .extend("log", () => {
    const said: string[] = [];
    return {
      said,
      info: ({ server }: object & { server?: string }) => void said.push(`straight ${server}`),
      warn: ({ server, err }: object & { server?: string; err?: Error }) =>
        void said.push(`coordinator ${server} ${err?.message}`),
    };
  })
  .extend("clock", () => ({ ms: 0 }))
  .extend("route", ({ through, options, clock }, { onCleanup }) => {
    const route = new CellRoute(through, { ...options, cellNumber: 0, clockMs: () => clock.ms });
    onCleanup(() => route.end());
    return route;
  })
  .extend(
    "follow",
    ({ route, log }) =>
      (placement: Placement) =>
        route.follow(placement, log),
  );

it.beforeEach(({ skip }) => skip(citusUrl === undefined, "TEST_CITUS_URL names no coordinator of Citus"));

function ending<T extends { end(): Promise<void> }>(
  onCleanup: (end: () => Promise<void>) => void,
  part: T,
): T {
  onCleanup(() => part.end());
  return part;
}

/** Returns the port of the server that answers. */
async function portOf(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ port: number }>("select inet_server_port() as port");
  return rows[0]!.port;
}

function nobody(placement: Placement): Placement {
  return { ...placement, port: 1 };
}

it("an unreachable server is bypassed, logged once, and tried again every ten seconds", async ({
  route,
  follow,
  through,
  own,
  log,
  clock,
}) => {
  expect(route.place()).toBeUndefined();
  await follow(nobody(own));
  await follow(nobody(own));
  expect(route.place()).toEqual({ server: `${own.host}:1`, isDirect: false });
  expect(await portOf(route.pool)).toBe(await portOf(through));
  clock.ms = 10_000;
  await follow(nobody(own));
  expect(log.said).toEqual([expect.stringMatching(/^coordinator .*:1 connect ECONNREFUSED/)]);
  await follow(own);
  expect(route.place()).toEqual({ server: `${own.host}:${own.port}`, isDirect: true });
  expect(await portOf(route.pool)).toBe(own.port);
});

it("a server that only this process cannot reach is bypassed, and used again afterwards", async ({
  route,
  follow,
  database,
  through,
  own,
  log,
  clock,
}) => {
  const proxy = await startDatabaseProxy({
    ...database,
    connection: atServer(database.connection, own),
  });
  const placement = { ...own, host: "127.0.0.1", port: Number(new URL(proxy.url).port) };
  await follow(placement);
  expect(await portOf(route.pool)).toBe(own.port);
  proxy.accepts = false;
  proxy.sever();
  // The first query may use a connection that broke before the pool noticed.
  await expect(route.pool.query("select 1")).rejects.toThrow(/ECONNRESET|terminated/);
  await expect(route.pool.query("select 1")).rejects.toThrow(/ECONNRESET/);
  await follow(placement);
  expect(await portOf(route.pool)).toBe(await portOf(through));
  proxy.accepts = true;
  clock.ms = 9_999;
  await follow(placement);
  expect(route.place()?.isDirect).toBe(false);
  clock.ms = 10_000;
  await follow(placement);
  expect(await portOf(route.pool)).toBe(own.port);
  expect(log.said.map((line) => line.split(" ")[0])).toEqual(["straight", "coordinator", "straight"]);
  await proxy.stop();
});

it("another server at the same address is not used, nor one without this version's functions", async ({
  route,
  follow,
  own,
  other,
  log,
  through,
}) => {
  await follow({ ...own, port: other.port });
  await follow({ ...own, mark: "0".repeat(32) });
  expect(log.said).toEqual([
    expect.stringMatching(/a different server answers at its address$/),
    expect.stringMatching(/a different server answers at its address$/),
  ]);
  expect(await portOf(route.pool)).toBe(await portOf(through));
});

it("a server that no longer holds the cell forwards its calls", async ({ route, follow, other, through }) => {
  await follow(other);
  expect(await portOf(route.pool)).toBe(other.port);
  const note =
    "insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id) values (1, 1, 1, 0, 0, gen_random_uuid())";
  await route.pool.query(note);
  const { rows } = await through.query("select accepted from mailbox_activity");
  expect(rows).toEqual([{ accepted: 1 }]);
});

it("an ordering key is locked on the server that holds its messages, whichever way a call takes", async ({
  route,
  follow,
  own,
  other,
  through,
}) => {
  const tried = async (pool: pg.Pool): Promise<unknown> => {
    const { rows } = await pool.query("select try_lock_message_keys($1, array['a', 'b']) as keys", [mailbox]);
    return rows[0]!.keys;
  };
  const mailbox = "0".repeat(32);
  const lock =
    "select lock_message_keys($1, array['a']), lock_claim_ids(array['\\x01'::bytea], array[$1::uuid])";
  // Through the server of the cell, another server, and the coordinator.
  for (const placement of [own, other]) {
    await follow(placement);
    await inTransaction(route.pool, async (client) => {
      await client.query(lock, [mailbox]);
      expect(await tried(through)).toEqual(["b"]);
    });
    await inTransaction(through, async (client) => {
      await client.query(lock, [mailbox]);
      expect(await tried(route.pool)).toEqual(["b"]);
    });
    expect(await tried(route.pool)).toEqual(["a", "b"]);
  }
});

/** Number of the database's sessions that wait for a lock on any worker. */
async function countWaiting(through: pg.Pool): Promise<number> {
  const { rows } = await through.query<{ waiting: number }>(
    `select sum(result::integer) as waiting
     from run_command_on_workers(
       $$select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'$$
     )`,
  );
  return rows[0]!.waiting;
}

it.for([
  {
    what: "activity",
    table: "target_activity",
    fold: foldActivity,
    fill: `insert into target_activity (bucket, accepted, target_id, org_id, at_ms)
      select 1, 1, $1::uuid, $2::uuid, g from generate_series(1, 1000) g`,
    sum: "select sum(accepted)::integer as sum from activity_steps where step = 60 and scope_id = $1 and org_id = $2",
  },
  {
    what: "usage",
    table: "usage_records",
    fold: (pool: pg.Pool) => foldUsage(pool),
    fill: `insert into usage_records (bucket, period, items, org_id)
      select 1, 209901, 1, $2::uuid from generate_series(1, 1000) g where $1::uuid is not null`,
    sum: "select sum(items)::integer as sum from usage_totals where org_id = $2 and $1::uuid is not null",
  },
])(
  "two simultaneous folds of $what, one direct and one through the coordinator, count each row once",
  async ({ table, fold, fill, sum }, { route, follow, own, through }) => {
    await follow(own);
    const owner = [newRootId(Date.now()), newRootId(Date.now())];
    await through.query(fill, owner);
    // Each fold holds the folding lock of its own server, and both reach the same rows.
    const folds = await inTransaction(route.pool, async (client) => {
      await client.query(`select bucket from ${table} for update`);
      const both = [fold(route.pool), fold(through)];
      await until(
        () => countWaiting(through),
        (waiting) => waiting === both.length,
      );
      return { both };
    });
    const counts = await Promise.all(folds.both);
    expect(counts.toSorted((one, other) => one - other)).toEqual([0, 1000]);
    const { rows } = await through.query<{ sum: number }>(sum, owner);
    expect(rows).toEqual([{ sum: 1000 }]);
  },
);

it("the start refuses more processes than a worker has connections for, although the coordinator has enough", async ({
  through,
}) => {
  const { rows } = await through.query<{ room: number }>(
    `select current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer as room`,
  );
  const cells = String(cellCount) as Config["cells"];
  // Connections to the coordinator: the pool, the cells' pool and a few more; to a worker: the pool and twice the
  // cells' pool.
  const databasePool = Math.floor(rows[0]!.room / 3) + 1;
  const refused = refuseTooManyConnections(through, { cells, databasePool, processes: 1 });
  await expect(refused).rejects.toThrow(/to the worker 127\.0\.0\.1:\d+, which allows \d+: lower/);
  const fewer = refuseTooManyConnections(through, { cells, databasePool: 10, processes: 1 });
  await expect(fewer).resolves.toBeUndefined();
});
