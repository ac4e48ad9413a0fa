import type pg from "pg";
import { describe, expect } from "vitest";
import { cellSchemas } from "../src/postgres/cells.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { placedCells } from "../src/postgres/placement/workers.ts";
import { createPool } from "../src/postgres/pool.ts";
import { accountIn, cellsOnCoordinatorTest } from "./support/cellsOnCoordinator.ts";
import { citusUrl } from "./support/citus.ts";
import { shapeOfDatabase, shapeOfDays } from "./support/databaseShape.ts";
import { failingPath, fillOrganization, rowsOf, storeTheRest } from "./support/filledDatabase.ts";
import { loopbackTargets } from "./support/fixtures.ts";
import { createWebhookTarget } from "./support/items.ts";
import { cellCount } from "./support/plain.ts";
import { goesOn, rangeOfStats, readAll } from "./support/readsTheSame.ts";
import { createTestNode, type TestNode } from "./support/testNode.ts";

const schemas = cellSchemas(cellCount);
const limitMs = 900_000;

const it = cellsOnCoordinatorTest();

/** Returns the rows of all cells by table, in order. */
async function rowsOfCells(pool: pg.Pool): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const schema of schemas)
    for (const [table, rows] of await rowsOf(pool, schema))
      found[`${schema}.${table}`] = rows.map((row) => JSON.stringify(row)).toSorted();
  return found;
}

const brokenOff =
  "the command was interrupted: run postrider db distribute --yes or postrider db undistribute --yes to its end";

describe.skipIf(citusUrl === undefined)(
  "cells that are distributed to servers and undistributed again",
  () => {
    it(
      "keep all their rows, wherever a command is killed",
      { timeout: limitMs },
      async ({ database, receiver, pool, command, kill, start }) => {
        receiver.answer = ({ path }, response) =>
          response.writeHead(path === failingPath ? 503 : 200).end("ok");
        const node = createTestNode(database, loopbackTargets);
        node.service.start();
        const account = await accountIn(node, 0);
        const waiting = await accountIn(node, 0);
        const target = await createWebhookTarget(node, waiting, receiver.url);
        const filled = await fillOrganization(node, receiver, account);
        const elsewhere = await fillOrganization(node, receiver, await accountIn(node, 1));
        const range = rangeOfStats();
        const readBoth = async (service: Pick<TestNode, "call">) => [
          await readAll(service, filled, range),
          await readAll(service, elsewhere, range),
        ];
        const before = await readBoth(node);
        await node.stop();
        const cell = createPool({
          connection: database.connection,
          schema: schemas[0]!,
          size: 1,
          onError: () => undefined,
        });
        await storeTheRest(cell, waiting.user.org_id, target.id);
        await cell.end();
        const rows = await rowsOfCells(pool);
        const shape = await shapeOfDatabase(pool);
        const refusesServices = () => expect(migrate(pool, { cells: cellCount })).rejects.toThrow(brokenOff);

        // Kills before and after the functions are installed, and within the second cell; then undistributes the
        // half-finished state.
        await kill("distribute --yes", /^Copied \d+ tables/m);
        await refusesServices();
        await kill("distribute --yes", /^Installed the functions/m);
        await refusesServices();
        await kill("distribute --yes", /_00 is on /);
        await refusesServices();
        expect(await rowsOfCells(pool)).toEqual(rows);
        expect(await command("undistribute --yes")).toMatchObject({ code: 0 });
        expect(await shapeOfDays(pool, shape)).toEqual(shape);
        expect(await rowsOfCells(pool)).toEqual(rows);

        await kill("distribute --yes", /_00 is on /);
        expect(await command("distribute --yes")).toMatchObject({
          code: 0,
          err: expect.stringMatching(/An earlier command was interrupted: 1 cells are done[^]*_80 is on/),
        });
        expect(new Set((await placedCells(pool)).map(({ port }) => port)).size).toBe(cellCount);
        expect(await rowsOfCells(pool)).toEqual(rows);
        const distributed = await start();
        expect(await readBoth(distributed)).toEqual(before);
        expect(await command("undistribute --yes")).toMatchObject({
          code: 5,
          err: expect.stringContaining("a service runs on the database"),
        });
        await goesOn(distributed, filled);
        await goesOn(distributed, elsewhere);
        await distributed.stop();

        const changed = await rowsOfCells(pool);
        await kill("undistribute --yes", /_00 is back/);
        await refusesServices();
        await kill("undistribute --yes", /_80 is back/);
        await refusesServices();
        expect(await command("undistribute --yes")).toMatchObject({ code: 0 });
        expect(await rowsOfCells(pool)).toEqual(changed);
        expect(await shapeOfDays(pool, shape)).toEqual(shape);
        const local = await start();
        const listed = await local.call("GET", "/api/v1/events", { key: account.api_key });
        expect(listed.status).toBe(200);
        const next = await local.call("POST", `/t/${filled.mailbox.id}`, {
          key: account.api_key,
          body: { n: 1 },
        });
        const claim = { key: account.api_key, body: { max: 1 } };
        const claimed = await local.call("POST", `/api/v1/mailboxes/${filled.mailbox.id}/claim`, claim);
        expect(claimed.body.messages).toMatchObject([{ id: next.body.id }]);
      },
    );
  },
);
