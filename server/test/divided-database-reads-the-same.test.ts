import { expect } from "vitest";
import { cellSchemas } from "../src/postgres/cells.ts";
import { bucketOf } from "../src/postgres/ids.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import {
  failingPath,
  fillOrganization,
  rowsOf,
  type StoredRow,
  storeTheRest,
} from "./support/filledDatabase.ts";
import { loopbackTargets, stageTest } from "./support/fixtures.ts";
import { createWebhookTarget } from "./support/items.ts";
import { someKey } from "./support/program.ts";
import { goesOn, rangeOfStats, readAll } from "./support/readsTheSame.ts";
import { type Account, createTestNode, signUp, type TestNode } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const count = 4;

const it = stageTest
  .extend(
    "command",
    ({ database }) =>
      (...args: string[]) =>
        runDatabaseCommand(args, { DATABASE_URL: database.url, POSTRIDER_ENCRYPTION_KEY: someKey }),
  )
  /** An undivided node, which is stopped before the database is divided. */
  .extend("node", async ({ database }, { onCleanup }) => {
    const node = createTestNode(database, loopbackTargets);
    node.service.start();
    let isRunning = true;
    const stop = async (): Promise<void> => {
      if (isRunning) await node.stop();
      isRunning = false;
    };
    onCleanup(stop);
    return { ...node, stop };
  });

/** Creates accounts in several cells: ids are random. */
async function accountsApart(node: TestNode): Promise<Account[]> {
  const byCell = new Map<number, Account>();
  while (byCell.size < 2) {
    const account = await signUp(node);
    byCell.set(cellOfRow({ org_id: account.user.org_id })!, account);
  }
  return [...byCell.values()];
}

it("a divided database reads the same and continues its work", async ({
  node,
  receiver,
  pool,
  command,
  start,
}) => {
  receiver.answer = ({ path }, response) => response.writeHead(path === failingPath ? 503 : 200).end("ok");
  const [waiting, account] = await accountsApart(node);
  const target = await createWebhookTarget(node, waiting!, receiver.url);
  const filled = await fillOrganization(node, receiver, account!);
  const range = rangeOfStats();
  const before = await readAll(node, filled, range);
  await node.stop();
  await storeTheRest(pool, waiting!.user.org_id, target.id);
  const rows = await rowsOf(pool, "public");
  for (const [table, stored] of rows) expect({ table, rows: stored.length }).not.toEqual({ table, rows: 0 });

  expect(await command("db", "divide", "--cells", String(count), "--yes")).toMatchObject({ code: 0 });

  const cells = await Promise.all(cellSchemas(count).map((schema) => rowsOf(pool, schema)));
  for (const [table, stored] of rows) {
    const parts = cells.map((cell) => cell.get(table)!);
    expect({ table, rows: inOrder(parts.flat()) }).toEqual({ table, rows: inOrder(stored) });
    for (const [number, part] of parts.entries())
      expect(part.map(cellOfRow).filter((cell) => ![number, undefined].includes(cell))).toEqual([]);
  }
  for (const [table, left] of await rowsOf(pool, "public"))
    expect({ table, left }).toEqual({ table, left: [] });
  await expect(migrate(pool)).rejects.toThrow(
    "the database has 4 cells and POSTRIDER_CELLS says 1: set it to 4",
  );

  const service = await start({ POSTRIDER_CELLS: String(count) });
  expect(await readAll(service, filled, range)).toEqual(before);
  await goesOn(service, filled);
  const { body } = await until(
    () => service.call("GET", "/api/v1/events", { key: waiting!.api_key }),
    ({ body: { events } }) => events.every(({ status }: { status: string }) => status === "DELIVERED"),
  );
  expect(body.events).toHaveLength(3);
});

function inOrder(rows: readonly StoredRow[]): string[] {
  return rows.map((row) => JSON.stringify(row)).toSorted();
}

/** The cell by the bucket of the row's organization, or by the row's own bucket; undefined for a row with neither. */
function cellOfRow({ org_id, bucket }: StoredRow): number | undefined {
  const number = org_id === undefined ? bucket : bucketOf(org_id.replaceAll("-", ""));
  return number === undefined ? undefined : Math.floor((number * count) / 256);
}
