import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Stripe } from "stripe";
import type pg from "pg";
import { openCheckout } from "../../../src/billing/checkout.ts";
import { exportUsage, type ExportCounts } from "../../../src/billing/exportUsage.ts";
import { periodOf } from "../../../src/billing/ledger.ts";
import { processEvents } from "../../../src/billing/processEvents.ts";
import { createProcessor } from "../../../src/billing/processor.ts";
import { receiveEvent } from "../../../src/billing/receiveEvent.ts";
import type { StripeConfig } from "../../../src/config/config.ts";
import { type Cells, oneCell } from "../../../src/postgres/cells.ts";
import { newRootId } from "../../../src/postgres/ids.ts";
import { tablesOfCells } from "../../../src/postgres/tablePlaces.ts";
import type { BillingStatus } from "../../../src/postgres/tables.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import type { StandInAccount } from "../stripeStandIn/client.ts";

/** Live billing with a simulated clock: the service's billing parts, and an account of the processor's stand-in. */
export interface Lab {
  pool: pg.Pool;
  account: StandInAccount;
  config: StripeConfig;
  stripe: Stripe;
  nowSeconds(): number;
  /** Sets both clocks; the stand-in then does everything that is due. */
  setClock(nowSeconds: number): Promise<void>;
  createOrganization(status?: BillingStatus): Promise<string>;
  /** Adds items to the ledger of the current month, as accept_items does. */
  addUsage(orgId: string, items: number): Promise<void>;
  /** Opens the payment page, and returns its URL. */
  checkOut(orgId: string): Promise<string>;
  /** Checks out and pays; the resulting notices wait at the stand-in. */
  subscribe(orgId: string): Promise<void>;
  /** Makes the stand-in send its held notices, and processes them. */
  settleNotices(): Promise<void>;
  exportOnce(pool?: pg.Pool): Promise<ExportCounts>;
  processOnce(pool?: pg.Pool): Promise<{ processed: number; failed: number }>;
  statusOf(orgId: string): Promise<BillingStatus>;
  /** Number of batches, notices and invoices that are not settled. */
  countWaiting(): Promise<number>;
  close(): Promise<void>;
}

interface LabSurroundings {
  /** Time limit of a request to the stand-in, milliseconds; short for tests in which requests hang. */
  timeoutMs?: number;
  /** Pools of the database: `home` reads the control plane's tables, `cells` those of all cells. */
  cells?: Cells;
  home?: pg.Pool;
}

/** Long enough for a busy machine: a request that times out would be an additional fault. */
const patientMs = 10_000;
const log = createLog("silent");

/** The tables of a lab, in the order in which foreign keys allow deleting their rows. */
const tables = [
  "meter_batches",
  "meter_counters",
  "held_invoices",
  "billing_events",
  "billing_state_changes",
  "billing_accounts",
  "usage_records",
  "usage_totals",
  "audit_log",
  "organizations",
];

/** Creates a lab at a time in Unix seconds, in a database without other work. */
export async function createLab(
  pool: pg.Pool,
  account: StandInAccount,
  startSeconds: number,
  { timeoutMs = patientMs, cells = oneCell(pool), home = pool }: LabSurroundings = {},
): Promise<Lab> {
  let now = startSeconds;
  for (const table of tables) {
    const places = tablesOfCells.includes(table) ? cells.all().map((cell) => cell.pool) : [pool];
    for (const place of places) await place.query(`delete from ${table}`);
  }
  const { config } = account;
  const stripe = createProcessor(config, timeoutMs);
  // A customer's request for the page must not fail; on a busy machine the short limit would make it fail.
  const patient = createProcessor(config, patientMs);
  const nowMs = (): number => now * 1000;
  const deps = { pool: home, cells, stripe, config, log, nowMs, signal: new AbortController().signal };
  const receiver = await startReceiver(deps);
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  await account.control({ action: "clock", now });
  await account.control({ action: "webhooks", url, secrets: [config.webhookSecrets[0]!], mode: "hold" });
  /** Connections of another node. */
  const beside = (on: pg.Pool | undefined) =>
    on && { pool: on, cells: cells.all().length === 1 ? oneCell(on) : cells };
  const lab: Lab = {
    pool,
    account,
    config,
    stripe,
    nowSeconds: () => now,
    async setClock(nowSeconds) {
      now = nowSeconds;
      await account.control({ action: "clock", now });
    },
    createOrganization: (status = "pending") => createOrganization(pool, status, now),
    async addUsage(orgId, items) {
      await cells
        .ofOrg(orgId)
        .pool.query(
          "insert into usage_records (bucket, period, items, org_id) values (floor(random() * 256), $1, $2, $3)",
          [periodOf(nowMs()), items, orgId],
        );
    },
    checkOut(orgId) {
      const cell = cells.ofOrg(orgId).pool;
      const deps = { pool: cell, nowMs, stripe: patient, config, publicUrl: "http://localhost:8080" };
      return openPage(deps, orgId);
    },
    async subscribe(orgId) {
      const page = await lab.checkOut(orgId);
      await account.control({ action: "pay page", session: page.split("/").pop()! });
    },
    async settleNotices() {
      await account.control({ action: "deliver" });
      await lab.processOnce();
    },
    exportOnce: (on) => exportUsage({ ...deps, ...beside(on) }),
    processOnce: (on) => processEvents({ ...deps, ...beside(on) }),
    async statusOf(orgId) {
      const { rows } = await pool.query<{ billing_status: BillingStatus }>(
        "select billing_status from organizations where id = $1",
        [orgId],
      );
      return rows[0]!.billing_status;
    },
    async countWaiting() {
      const { rows } = await pool.query<{ waiting: number }>(
        `select (select count(*) from meter_batches where status <> 'exported')
           + (select count(*) from billing_events where processed_at is null)
           + (select count(*) from held_invoices where released_at is null) as waiting`,
      );
      return rows[0]!.waiting;
    },
    async close() {
      receiver.closeAllConnections();
      await new Promise((resolve) => receiver.close(resolve));
    },
  };
  return lab;
}

async function createOrganization(pool: pg.Pool, status: BillingStatus, nowSeconds: number): Promise<string> {
  const id = newRootId(nowSeconds * 1000);
  await pool.query(
    "insert into organizations (id, name, slug, billing_status, created_at) values ($1::uuid, 'Lab', $1::uuid::text, $2, $3)",
    [id, status, nowSeconds],
  );
  return id;
}

/** Receives notices as the route does, without the other parts of the server. */
async function startReceiver(deps: Parameters<typeof receiveEvent>[0]): Promise<Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      receiveEvent(deps, Buffer.concat(chunks), request.headers["stripe-signature"]).then(
        ({ outcome }) => response.writeHead(outcome === "received" ? 200 : 400).end("{}"),
        (error: Error) => response.writeHead(400).end(error.message),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

async function openPage(...checkout: Parameters<typeof openCheckout>): Promise<string> {
  const page = await openCheckout(...checkout);
  if (page.outcome === "open") return page.url;
  throw new Error(`the page is not open: ${page.outcome}`);
}
