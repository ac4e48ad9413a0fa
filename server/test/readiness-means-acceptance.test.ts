import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./support/databaseProxy.ts";
import { createWebhookTarget, type WebhookTarget } from "./support/items.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

let database: TestDatabase;
let proxy: DatabaseProxy;
let receiver: Receiver;
let service: ServiceProcess;
let account: Account;
let target: WebhookTarget;
let mailboxId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database);
  receiver = await startReceiver();
  service = await startService({
    storage: { databaseUrl: proxy.url },
    env: { POSTRIDER_DATABASE_TIMEOUT_MS: "1500" },
  });
  account = await signUp(service);
  target = await createWebhookTarget(service, account, receiver.url);
  const mailbox = await service.call("POST", "/api/v1/targets", {
    key: account.api_key,
    body: { kind: "mailbox", name: "inbox" },
  });
  mailboxId = mailbox.body.id;
});

afterAll(async () => {
  service.kill("SIGKILL");
  await service.ended;
  await receiver.stop();
  await proxy.stop();
  await database.drop();
});

describe("a database that is read-only", () => {
  it("is told by /readyz and by the refusal of an item, and is served again when it is not any more", async () => {
    // The sessions that are open keep what they began with.
    await inDatabase(alterDatabase("set default_transaction_read_only = on"));
    proxy.sever();
    await untilNotReady(/^the database is read-only$/);
    expect(await send()).toEqual([503, "the database is read-only: try again"]);
    await inDatabase(`begin read write; ${alterDatabase("reset all")}; commit`);
    proxy.sever();
    await untilAccepted();
  });
});

describe("a database whose disk is full", () => {
  it("is called that in the refusal of an item", async () => {
    await inDatabase(`
      create function refuse_growth() returns trigger language plpgsql as $$
        begin raise exception 'could not extend file "base/1/2": No space left on device' using errcode = '53100'; end
      $$;
      create trigger full_disk before insert on events for each row execute function refuse_growth()`);
    expect(await send()).toEqual([503, "the disk of the database is full: try again"]);
    await inDatabase("drop trigger full_disk on events; drop function refuse_growth");
    await untilAccepted();
  });
});

describe("a database that is frozen", () => {
  it("lets nobody wait: every way in is answered with 503 in time, and all goes on when it thaws", async () => {
    proxy.frozen = true;
    const key = account.api_key;
    // Three rounds, so that connections that were given up and batches that queue behind others count too.
    for (let round = 0; round < 3; round++) {
      expect(await answerWithin(3_000, "/readyz")).toEqual([503, "the database does not answer in time"]);
      const answers = await Promise.all([
        ...Array.from({ length: 20 }, () => item(target.id)),
        ...Array.from({ length: 5 }, () => item(mailboxId)),
        answerWithin(8_000, "/api/v1/events", { headers: bearer(key) }),
        answerWithin(8_000, "/api/v1/targets", { headers: bearer(key) }),
        answerWithin(
          8_000,
          "/api/v1/auth/login",
          json({ email: account.user.email, password: account.password }),
        ),
        answerWithin(8_000, `/api/v1/mailboxes/${mailboxId}/claim`, json({ max: 1, wait_seconds: 1 }, key)),
        answerWithin(8_000, `/api/v1/mailboxes/${mailboxId}/stats`, { headers: bearer(key) }),
        answerWithin(8_000, `/api/v1/targets/${target.id}`, { ...json({ name: "x" }, key), method: "PATCH" }),
      ]);
      for (const [status, text] of answers) {
        expect(text).toMatch(/^(the database does not answer in time|the service cannot reach its database)/);
        expect(status).toBe(503);
      }
    }
    proxy.frozen = false;
    await untilAccepted();
  });

  it("answers items with one idempotency key once, whatever became of the one that was given up", async () => {
    const headers = { "idempotency-key": "order-1" };
    proxy.frozen = true;
    const [status, text] = await item(mailboxId, headers);
    expect([status, text]).toEqual([503, expect.stringMatching(/Idempotency-Key/)]);
    proxy.frozen = false;
    await until(
      () => item(mailboxId, headers),
      ([code]) => code === 202,
      20_000,
    );
    const stored = await inDatabase("select count(*)::integer as stored from messages");
    await item(mailboxId, headers);
    expect(await inDatabase("select count(*)::integer as stored from messages")).toEqual(stored);
  });
});

type Told = [status: number, error: string];

/** One request; rejects when it is not answered by then. */
async function answerWithin(limitMs: number, path: string, options: RequestInit = {}): Promise<Told> {
  const response = await fetch(service.url + path, { ...options, signal: AbortSignal.timeout(limitMs) });
  const { error } = (await response.json()) as { error?: string };
  return [response.status, error ?? ""];
}

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

function json(body: unknown, key?: string, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...(key !== undefined && bearer(key)), ...headers },
  };
}

function item(targetId: string, headers?: Record<string, string>): Promise<Told> {
  return answerWithin(8_000, `/t/${targetId}`, json({ hello: 1 }, account.api_key, headers));
}

function send(): Promise<Told> {
  return item(target.id);
}

async function untilNotReady(reason: RegExp): Promise<void> {
  await until(
    () => answerWithin(3_000, "/readyz"),
    ([status, error]) => status === 503 && reason.test(error),
    20_000,
  );
}

/** Ready means that an item is accepted. */
async function untilAccepted(): Promise<void> {
  await until(
    () => answerWithin(3_000, "/readyz"),
    ([status]) => status === 200,
    20_000,
  );
  expect(await send()).toEqual([202, ""]);
}

function alterDatabase(change: string): string {
  return `do $$ begin execute format('alter database %I ${change}', current_database()); end $$`;
}

async function inDatabase(sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}
