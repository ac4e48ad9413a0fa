import type pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createPool } from "../src/postgres/pool.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { itemBytes, onLongWay, onShortWay } from "./support/plainRequest.ts";
import { openRawConnection } from "./support/rawConnection.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { type Account, signUp } from "./support/testNode.ts";

let database: TestDatabase;
let pool: pg.Pool;
let service: ServiceProcess;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  service = await startService({ storage: { databaseUrl: database.url } });
});

afterAll(async () => {
  await service?.stop();
  await pool?.end();
  await database?.drop();
});

async function makeMailbox({ api_key: key }: Account): Promise<string> {
  const body = { kind: "mailbox", name: "inbox" };
  return (await service.call("POST", "/api/v1/targets", { key, body })).body.id;
}

async function setBilling(account: Account, status: string): Promise<void> {
  const { org_id: orgId } = account.user;
  await pool.query("update organizations set billing_status = $2 where id = $1", [orgId, status]);
}

/** The status of a request's answer, and what it says in `X-Error-Code`. */
async function refusalOf(request: Buffer): Promise<[number, string | undefined]> {
  const connection = await openRawConnection(service.port);
  onTestFinished(() => connection.destroy());
  await connection.write(request);
  const { status, headers } = await connection.answer();
  return [status, headers.find(([name]) => name.toLowerCase() === "x-error-code")?.[1]];
}

describe.each([
  ["the fast way", onShortWay],
  ["the framework's way", onLongWay],
])("a refused item on %s names what is in its way:", (_name, way) => {
  it("a key that was used with another body, and a mailbox that is disabled", async () => {
    const account = await signUp(service);
    const targetId = await makeMailbox(account);
    const key = account.api_key;
    const more = ["Idempotency-Key: one"];
    expect(await refusalOf(way(itemBytes({ targetId, key, more })))).toEqual([202, undefined]);
    const other = itemBytes({ targetId, key, more, body: "[]" });
    expect(await refusalOf(way(other))).toEqual([409, "idempotency_conflict"]);
    await service.call("PATCH", `/api/v1/targets/${targetId}`, { key, body: { enabled: false } });
    expect(await refusalOf(way(itemBytes({ targetId, key })))).toEqual([409, "mailbox_disabled"]);
  });

  it.each([
    ["suspended", 402, "workspace_suspended"],
    ["pending", 403, "workspace_pending"],
  ])("a workspace that is %s", async (billing, status, code) => {
    const account = await signUp(service);
    const targetId = await makeMailbox(account);
    await setBilling(account, billing);
    const request = itemBytes({ targetId, key: account.api_key });
    expect(await refusalOf(way(request))).toEqual([status, code]);
  });
});

it("an API key that a workspace may not make names the reason too", async () => {
  const account = await signUp(service);
  await setBilling(account, "suspended");
  const answer = await service.call("POST", "/api/v1/keys", {
    session: account.session_token,
    body: { name: "k" },
  });
  expect([answer.status, answer.headers["x-error-code"]]).toEqual([402, "workspace_suspended"]);
});
