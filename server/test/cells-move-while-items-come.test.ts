import type pg from "pg";
import { describe, expect } from "vitest";
import { cellSchemas } from "../src/postgres/cells.ts";
import { applyMigrations } from "../src/postgres/applyMigrations.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { lastMigration, migrations, toMigration } from "../src/postgres/migrations.ts";
import { placeOfServer } from "../src/postgres/cellServers.ts";
import { placedCells } from "../src/postgres/placement/workers.ts";
import { accountIn, cellsOnCoordinatorTest } from "./support/cellsOnCoordinator.ts";
import { citusUrl } from "./support/citus.ts";
import { createMailbox } from "./support/mailbox.ts";
import { cellCount } from "./support/plain.ts";
import { createTestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const it = cellsOnCoordinatorTest();
const schemas = cellSchemas(cellCount);
const limitMs = 900_000;

async function serversOfCells(pool: pg.Pool): Promise<string[]> {
  return (await placedCells(pool)).map(placeOfServer);
}

/** Number of tables on workers that belong to no placed cell, by server: leftovers of a move. */
async function leftovers(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "select count(*)::integer as count from pg_dist_cleanup",
  );
  return rows[0]!.count;
}

describe.skipIf(citusUrl === undefined)("cells on servers", () => {
  it(
    "move while items arrive, and a killed move can be repeated",
    { timeout: limitMs },
    async ({ database, pool, command, kill }) => {
      expect(await command("distribute --yes")).toMatchObject({ code: 0 });
      const [first, second] = await serversOfCells(pool);
      const node = createTestNode(database);
      const boxes = [
        await createMailbox(node, {}, await accountIn(node, 0)),
        await createMailbox(node, {}, await accountIn(node, 1)),
      ];
      const over = new AbortController();
      const sending = boxes.map(async (box) => {
        const sent: string[] = [];
        while (!over.signal.aborted) sent.push(await box.send({ n: sent.length }));
        return sent;
      });
      try {
        const isMoving = async (): Promise<boolean> =>
          (await pool.query("select from get_rebalance_progress() where progress = 1 limit 1")).rowCount ===
          1;
        await kill(`move-cell 0 ${second}`, isMoving);
        expect(await serversOfCells(pool)).toEqual([first, second]);
        const moved = await command(`move-cell 0 ${second}`);
        expect(moved).toMatchObject({
          code: 0,
          err: expect.stringMatching(/^Moved postrider_cell_00 from \S+ to \S+ \([\d.]+ s\)$/m),
        });
        expect(JSON.parse(moved.out)).toMatchObject({ cell: 0, from: first, server: second });
        expect(await serversOfCells(pool)).toEqual([second, second]);
        await until(
          () => leftovers(pool),
          (count) => count === 0,
        );
        expect(await command(`move-cell 0 ${second}`)).toMatchObject({
          code: 0,
          out: expect.stringContaining('"seconds":0'),
        });
        expect(await command(`move-cell ${cellCount} ${second}`)).toMatchObject({ code: 4 });
        expect(await command("move-cell 0 192.0.2.1")).toMatchObject({
          code: 4,
          err: expect.stringContaining(`192.0.2.1:5432 is no worker: postrider db worker add`),
        });

        expect(await command(`worker drain ${second}`)).toMatchObject({
          code: 0,
          out: expect.stringContaining('"moved":2'),
        });
        expect(await serversOfCells(pool)).toEqual([first, first]);
        expect(await command(`move-cell 0 ${second}`)).toMatchObject({
          code: 5,
          err: expect.stringContaining("is drained"),
        });
        expect(await command(`worker drain ${first}`)).toMatchObject({
          code: 5,
          err: expect.stringContaining("has 2 cells, and no other worker takes cells"),
        });
        for (const moves of ["Citus has forgotten", "is no worker, or none any more"])
          expect(await command(`worker drain ${second} --remove`)).toMatchObject({
            code: 0,
            err: expect.stringContaining(moves),
          });
        for (const said of ["is a worker", "is a worker already"])
          expect(await command(`worker add ${second}`)).toMatchObject({
            code: 0,
            err: expect.stringMatching(new RegExp(`${said}\n[^]*postrider db move-cell 1 ${second}$`, "m")),
          });
        expect(await command(`move-cell 1 ${second}`)).toMatchObject({ code: 0 });
        expect(await serversOfCells(pool)).toEqual([first, second]);
        // The service calls the worker until it has noticed the move.
        expect(await command(`worker drain ${second} --remove`)).toMatchObject({
          code: 0,
          out: expect.stringContaining('"moved":1'),
        });
      } finally {
        over.abort();
      }
      for (const [number, sent] of (await Promise.all(sending)).entries()) {
        const taken: string[] = [];
        for (;;) {
          const { body } = await boxes[number]!.post("claim", { max: 100, lease_seconds: 600 });
          if (body.messages.length === 0) break;
          taken.push(...body.messages.map(({ id }: { id: string }) => id));
        }
        expect(taken).toEqual(sent);
      }
      await node.stop();
    },
  );

  it(
    "get the schema changes of a later version, and keep them when they move back",
    { timeout: limitMs },
    async ({ pool, command }) => {
      expect(await command("distribute --yes")).toMatchObject({ code: 0 });
      const later = toMigration({
        name: `${lastMigration + 1}_later.sql`,
        text: `
        alter table events add column planted bytea;
        alter table events alter column planted set statistics 0;
        alter table deliveries add column planted text not null default ';';
        alter table deliveries alter column planted set statistics 200;
        create index planted on deliveries (bucket, planted);
        alter table targets add column planted integer;
        create index planted_one on targets (planted);
        create index planted_other on targets (org_id, planted);`,
      });
      const client = await pool.connect();
      await client.query("reset search_path");
      await applyMigrations({ client, pool }, [...migrations, later]);
      // Puts a cell into the state that an earlier version leaves.
      await client.query(`drop table ${schemas[1]}.erased_digests`);
      await client.query(`drop index ${schemas[1]}.messages_ready`);
      client.release(true);
      expect(await migrate(pool, { cells: cellCount })).toEqual([]);
      for (const schema of schemas)
        expect((await pool.query(`select planted from ${schema}.deliveries`)).rows).toEqual([]);
      // The commands of this version refuse a database with migrations of a later version.
      await pool.query("delete from schema_changes where name = $1", [later.name]);
      expect(await command("undistribute --yes")).toMatchObject({ code: 0 });
      // `migrate` compares the cells' tables with those of the migrations, including statistics targets.
      expect(await migrate(pool, { cells: cellCount })).toEqual([]);
      const { rows } = await pool.query<{ targets: number[] }>(
        `select array_agg(distinct coalesce(attstattarget, -1)::integer) as targets
       from pg_attribute
       where attname = 'planted'
         and attrelid = any ($1::regclass[])`,
        [schemas.map((schema) => `${schema}.deliveries`)],
      );
      expect(rows).toEqual([{ targets: [200] }]);
    },
  );
});
