import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createPasswords } from "../src/accounts/passwords.ts";
import { readOrgCommand } from "../src/billing/orgCommand.ts";
import { cellSchemas, closeCells, openCells } from "../src/postgres/cells.ts";
import { bucketOf } from "../src/postgres/ids.ts";
import { createPool } from "../src/postgres/pool.ts";
import { tablesOfCells } from "../src/postgres/tablePlaces.ts";
import { createEmptyTestDatabase } from "./support/database.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { file, serviceTest } from "./support/fixtures.ts";
import { createMailboxTarget, createWebhookTarget, readEvent, sendItem } from "./support/items.ts";
import { commandFile, someKey, startProgram } from "./support/program.ts";
import { startService } from "./support/serviceProcess.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const count = 4;
const schemas = cellSchemas(count);

const maxInFlight = 16;

const it = serviceTest({ POSTRIDER_CELLS: String(count), POSTRIDER_MAX_IN_FLIGHT: String(maxInFlight) })
  .extend("accounts", file, async ({ service }): Promise<Account[]> => {
    const accounts: Account[] = [];
    // Ids are random, so accounts soon are in different cells.
    while (new Set(accounts.map(cellOf)).size < 2 || accounts.length < 4)
      accounts.push(await signUp(service));
    return accounts;
  })
  .extend("command", file, ({ database }) => async (cells: number, ...args: string[]) => {
    const program = startProgram({
      command: [process.execPath, commandFile, ...args],
      env: {
        DATABASE_URL: database.url,
        POSTRIDER_ENCRYPTION_KEY: someKey,
        POSTRIDER_CELLS: String(cells),
        LOG_LEVEL: "error",
      },
    });
    const { code } = await program.ended;
    return { code, output: program.output() };
  });

function cellOf({ user }: Account): number {
  return Math.floor((bucketOf(user.org_id) * count) / 256);
}

it("all rows of an organization's items stay in its cell", async ({ service, accounts, pool, receiver }) => {
  const sent = accounts.map(async (account) => {
    const { api_key: key } = account;
    const target = await createWebhookTarget(service, account, receiver.url);
    const mailbox = await createMailboxTarget(service, account);
    const delivered = [
      await sendItem(service, account, target.id),
      await sendItem(service, account, target.id),
    ];
    const publication = await service.call("POST", "/p", { key, body: { to: "all" } });
    expect(publication.status).toBe(202);
    await sendItem(service, account, mailbox);
    const claim = await service.call("POST", `/api/v1/mailboxes/${mailbox}/claim`, {
      key,
      body: { max: 10 },
    });
    expect(claim.body.messages).toHaveLength(2);
    for (const id of delivered) {
      await until(
        () => readEvent(service, account, id),
        ({ event }) => event.status === "DELIVERED",
      );
    }
    const { body } = await service.call("GET", "/api/v1/events", { key });
    expect(body.events).toHaveLength(5);
  });
  await Promise.all(sent);

  for (const table of tablesOfCells) {
    const { rows } = await pool.query<{ stray: number }>(
      `select count(*)::integer as stray from public.${table}`,
    );
    expect({ table, rows: rows[0]!.stray }).toEqual({ table, rows: 0 });
  }
  for (const [number, schema] of schemas.entries()) {
    const own = accounts.filter((account) => cellOf(account) === number);
    const { rows } = await pool.query<{ org_id: string; items: number; first: number; last: number }>(
      `select org_id, count(*)::integer as items, min(bucket) * ${count} / 256 as first, max(bucket) * ${count} / 256 as last
         from ${schema}.events
         group by org_id`,
    );
    const found = rows.toSorted((a, b) => (a.org_id < b.org_id ? -1 : 1));
    const ids = own.map(({ user }) => user.org_id).toSorted();
    expect(found).toEqual(ids.map((id) => ({ org_id: id, items: 5, first: number, last: number })));
  }
});

it("metrics name their cell, and bills count the items of each organization", async ({
  service,
  accounts,
}) => {
  const text = await fetch(`${service.url}/metrics`).then((answer) => answer.text());
  for (const number of schemas.keys())
    expect(text).toMatch(new RegExp(`^postrider_hot_table_bytes\\{cell="${number}"\\} \\d+$`, "m"));
  expect(text).toMatch(/^postrider_open_connections|^nodejs_/m);
  for (const { api_key: key } of accounts) {
    const { body } = await service.call("GET", "/api/v1/usage", { key });
    expect(body.usage.accepted_events).toBe(5);
  }
});

it("the command shows each cell, and another number of cells is refused", async ({ service, command }) => {
  expect(service.isRunning()).toBe(true);
  const shown = await command(count, "db", "cells", "--json");
  expect(shown).toMatchObject({ code: 0 });
  // On a busy machine the command also reports on standard error what it waits for.
  const json = shown.output.split("\n").find((line) => line.startsWith("{"))!;
  const { cells } = JSON.parse(json) as { cells: Record<string, unknown>[] };
  expect(cells.map(({ buckets }) => buckets)).toEqual(["00–3f", "40–7f", "80–bf", "c0–ff"]);
  expect(cells.map(({ schema }) => schema)).toEqual(schemas);
  for (const { bytes } of cells) expect(bytes).toBeGreaterThan(100_000);
  const other = await command(1, "serve");
  expect(other.code).toBe(1);
  expect(other.output).toContain("the database has 4 cells and POSTRIDER_CELLS says 1: set it to 4");
});

it("a backup restores the rows of each cell, and an operator sees the cells", async ({
  service,
  accounts,
  database,
}) => {
  expect(service.isRunning()).toBe(true);
  const place = mkdtempSync(join(tmpdir(), "postrider-cells-"));
  const empty = await createEmptyTestDatabase();
  onTestFinished(async () => {
    await empty.drop();
    rmSync(place, { recursive: true });
  });
  const backup = join(place, "postrider.backup");
  const env = { POSTRIDER_ENCRYPTION_KEY: someKey };
  const taken = await runDatabaseCommand(["backup", backup], { ...env, DATABASE_URL: database.url });
  expect(taken).toMatchObject({ code: 0 });
  // The restored number of cells is the backup's, whatever the setting.
  const restored = await runDatabaseCommand(["restore", backup], { ...env, DATABASE_URL: empty.url });
  expect(restored).toMatchObject({
    code: 0,
    err: expect.stringContaining("start the service with POSTRIDER_CELLS=4"),
  });
  const second = await startService({
    storage: { databaseUrl: empty.url },
    env: { POSTRIDER_CELLS: String(count) },
  });
  onTestFinished(async () => void (await second.stop()));
  for (const account of accounts) {
    const { api_key: key } = account;
    const { body } = await second.call("GET", "/api/v1/events", { key });
    expect(body.events).toHaveLength(5);
    const { body: mailboxes } = await second.call("GET", "/api/v1/targets?kind=mailbox", { key });
    const sent = await sendItem(second, account, mailboxes.targets[0].id);
    expect(await readEvent(second, account, sent)).toMatchObject({ event: { status: "UNREAD" } });
  }
  const options = { connection: empty.connection, size: 2, onError: () => undefined };
  const pool = createPool(options);
  const cells = openCells(pool, count, options);
  onTestFinished(async () => {
    await closeCells(cells, pool);
    await pool.end();
  });
  const org = async (...args: string[]): Promise<unknown> => {
    const printed: string[] = [];
    const around = { pool, cells, passwords: createPasswords(), nowMs: Date.now, operator: "ada" };
    const print = (text: string): void => void printed.push(text);
    await readOrgCommand(args)({ ...around, print, audit: () => undefined });
    return JSON.parse(printed.join("\n"));
  };
  const { org_id } = accounts.find((account) => cellOf(account) > 0)!.user;
  expect(await org("show", org_id)).toMatchObject({ usage: { accepted: 6, waived: 0, pending: 6 } });
  await org("set-state", org_id, "exempt");
  await org("set-state", org_id, "active");
  expect(await org("show", org_id)).toMatchObject({ usage: { accepted: 6, waived: 6, pending: 0 } });
});

it("the limit of requests in flight is shared by all cells", async ({ service, receiver }) => {
  const account = await signUp(service);
  const inFlight = new Set<ServerResponse>();
  let isHolding = false;
  receiver.answer = (_received, response) => {
    if (!isHolding) {
      response.end();
      return;
    }
    inFlight.add(response);
    response.once("close", () => inFlight.delete(response));
  };
  onTestFinished(() => {
    isHolding = false;
    for (const response of inFlight) response.end();
  });
  const make = () => createWebhookTarget(service, account, receiver.url);
  const targets = await Promise.all(Array.from({ length: 12 }, make));
  const sendToAll = async (): Promise<string[]> =>
    Promise.all(targets.map(({ id }) => sendItem(service, account, id)));
  // A target that has answered may have more requests at a time than an untried one.
  const answered = new Set(await sendToAll());
  await until(
    () => receiver.received.filter(({ id }) => answered.has(id)).length,
    (arrived) => arrived === answered.size,
  );
  isHolding = true;
  await sendToAll();
  // One organization, whose items are in one cell, may have seven eighths of all requests in flight.
  await until(
    () => inFlight.size,
    (requests) => requests >= maxInFlight / 2,
  );
});
