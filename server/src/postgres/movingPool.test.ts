import pg from "pg";
import { expect } from "vitest";
import { databaseTest, file } from "../../test/support/fixtures.ts";
import { until } from "../../test/support/until.ts";
import { limitQueries } from "./hot/queryLimit.ts";
import { createMovingPool, originOf } from "./movingPool.ts";
import { atServer } from "./pool.ts";

const it = databaseTest()
  /** A pool with at most `max` connections, whose sessions have the given application name. */
  .extend("named", file, ({ database: { connection } }) => (name: string, max: number): pg.Pool => {
    const where = "url" in connection ? { connectionString: connection.url } : connection;
    return new pg.Pool({ ...where, application_name: name, max, connectionTimeoutMillis: 60_000 });
  })
  .extend("sessions", file, ({ pool }) => async (name: string): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>(
      "select count(*)::integer as count from pg_stat_activity where application_name = $1",
      [name],
    );
    return rows[0]!.count;
  });

const ownName = "select current_setting('application_name') as name";

async function nameOf(database: pg.Pool | pg.PoolClient): Promise<string> {
  const { rows } = await database.query<{ name: string }>(ownName);
  return rows[0]!.name;
}

it("finishes statements and waiting requests on the old pool, and serves new requests from the new pool", async ({
  named,
  sessions,
}) => {
  const first = named("first", 1);
  const moving = createMovingPool(first);
  const limited = limitQueries(moving.pool, 5_000);
  expect(await nameOf(limited)).toBe("first");
  const left = named("left", 2);
  moving.move(left);
  const busy = await Promise.all([limited.connect(), moving.pool.connect()]);
  const waiting = Promise.all([nameOf(limited), nameOf(moving.pool), nameOf(moving.pool)]);
  moving.move(named("next", 1));
  expect(await nameOf(limited)).toBe("next");
  expect(await nameOf(moving.pool)).toBe("next");
  expect(left.waitingCount).toBe(3);
  expect(await Promise.all(busy.map(nameOf))).toEqual(["left", "left"]);
  busy[0].release();
  expect(await waiting).toEqual(["left", "left", "left"]);
  expect(await nameOf(busy[1])).toBe("left");
  busy[1].release();
  await until(
    () => sessions("left"),
    (count) => count === 0,
  );
  await moving.end();
  await until(
    () => sessions("next"),
    (count) => count === 0,
  );
  expect(await nameOf(first)).toBe("first");
  await first.end();
});

it("closes the idle connections of a pool that it leaves, and can return to the first pool", async ({
  named,
  sessions,
}) => {
  const first = named("home", 1);
  const moving = createMovingPool(first);
  moving.move(named("away", 3));
  const clients = await Promise.all([1, 2, 3].map(() => moving.pool.connect()));
  expect(await sessions("away")).toBe(3);
  for (const client of clients) client.release();
  moving.move(first);
  expect(await nameOf(moving.pool)).toBe("home");
  await until(
    () => sessions("away"),
    (count) => count === 0,
  );
  await moving.end();
  await first.end();
});

it("counts failed connection attempts of both query and connect", async ({ named }) => {
  const first = named("counted", 1);
  const moving = createMovingPool(first);
  await nameOf(moving.pool);
  expect(moving.failures()).toBe(0);
  moving.move(new pg.Pool({ host: "127.0.0.1", port: 1, user: "nobody", database: "none" }));
  await expect(moving.pool.query("select 1")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await expect(moving.pool.connect()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  expect(moving.failures()).toBe(2);
  await moving.end();
  await first.end();
});

it("originOf returns the first pool, also for a pool with a query limit", ({ pool }) => {
  const moving = createMovingPool(pool);
  expect(originOf(moving.pool)).toBe(pool);
  expect(originOf(limitQueries(moving.pool, 1_000))).toBe(pool);
  expect(originOf(pool)).toBe(pool);
});

it.for<[string, string]>([
  [
    "postgres://me:p%40ss@host/database?sslmode=verify-full",
    "postgres://me:p%40ss@10.0.0.5:9701/database?sslmode=verify-full",
  ],
  [
    "postgres://me@host:1/database?host=other&port=2&options=-c%20jit%3Doff",
    "postgres://me@10.0.0.5:9701/database?options=-c+jit%3Doff",
  ],
  ["postgresql://me@/database?host=/run/postgresql", "postgresql://me@10.0.0.5:9701/database"],
  ["postgresql:///database", "postgresql://10.0.0.5:9701/database"],
])("atServer replaces the server in the URL %s and keeps the rest", ([url, expected]) => {
  expect(atServer({ url }, { host: "10.0.0.5", port: 9701 })).toEqual({ url: expected });
});

it("atServer writes an IPv6 address in brackets", () => {
  const url = "postgres://me@host/database";
  expect(atServer({ url }, { host: "fd00::5", port: 5432 })).toEqual({
    url: "postgres://me@[fd00::5]:5432/database",
  });
});
