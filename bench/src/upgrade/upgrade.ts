import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { startEmbedded } from "../../../server/src/postgres/embedded/startEmbedded.ts";
import { type Balancer, createBalancer } from "../../../server/test/support/balancer.ts";
import { installPackage } from "../../../server/test/support/installPackage.ts";
import { createMailboxTarget, createWebhookTarget } from "../../../server/test/support/items.ts";
import { root } from "../../../server/scripts/bundlePrograms.ts";
import { type ServiceProcess, startService } from "../../../server/test/support/serviceProcess.ts";
import { signUp } from "../../../server/test/support/testNode.ts";
import { until } from "../../../server/test/support/until.ts";
import { type BenchSize, type Figure, whole } from "../figures.ts";
import { inTemporaryDirectory } from "../workload.ts";
import { type Arrivals, startArrivals } from "./arrivals.ts";
import { fillBefore } from "./fillBefore.ts";
import { type Phase, reportOf } from "./report.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

export interface UpgradeOptions {
  /** Events that are stored when the new version starts. */
  events: number;
  /** Seconds for which a transaction that has read events stays open, beginning before the new version's start. */
  openTransactionSeconds: number;
}

const itemsPerSecond = 300;
const consumers = 2;
/** The pause between two steps. */
const restMs = 5_000;
/** The time limit for building indexes on existing partitions. */
const indexesLimitMs = 400_000;

/**
 * Measures an upgrade under load on a database with many events: the previous version (`server/test/fixtures`) runs, this version
 * is started beside it and migrates the schema, and the processes of the previous version are stopped one by one. Reports how
 * long requests waited, which were refused, and which items were lost or doubled.
 */
export async function upgradeFigures(size: BenchSize, options: UpgradeOptions): Promise<Figure[]> {
  return inTemporaryDirectory(async (dataDir) => {
    const tree = await mkdtemp(join(tmpdir(), "postrider-before-"));
    const database = await startEmbedded({ dataDir, log: () => undefined });
    const pool = new pg.Pool({ ...database.connection, max: 3 });
    const arrivals = await startArrivals();
    const started: ServiceProcess[] = [];
    try {
      const before = await installPackage(join(root, "server/test/fixtures/version-before.tgz"), tree);
      const launch = async (command?: string): Promise<ServiceProcess> => {
        const service = await startService({
          storage: { databaseUrl: urlOf(database.connection) },
          env: { POSTRIDER_DATABASE_POOL: "10", LOG_LEVEL: "info" },
          ...(command !== undefined && { command }),
        });
        started.push(service);
        return service;
      };
      await prepare(pool, () => launch(before), options.events);
      return await measure({ pool, arrivals, before, launch, size, options });
    } finally {
      await Promise.all(started.filter((one) => one.isRunning()).map((one) => one.stop()));
      await arrivals.stop();
      await pool.end();
      await database.stop();
      await rm(tree, { recursive: true, force: true });
    }
  });
}

function urlOf({ host, port, user, database }: pg.PoolConfig): string {
  return `postgresql://${user}@/${database}?host=${encodeURIComponent(host!)}&port=${port}`;
}

/** Lets the previous version create its schema, stops it, and fills the database. */
async function prepare(pool: pg.Pool, launch: () => Promise<ServiceProcess>, events: number): Promise<void> {
  await (await launch()).stop();
  const startedAt = performance.now();
  await fillBefore(pool, events);
  say(`${whole(events)} events stored in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
}

interface Stage {
  pool: pg.Pool;
  arrivals: Arrivals;
  /** The command of the previous version. */
  before: string;
  launch: (command?: string) => Promise<ServiceProcess>;
  size: BenchSize;
  options: UpgradeOptions;
}

async function measure(stage: Stage): Promise<Figure[]> {
  const { pool, arrivals, before, launch, size, options } = stage;
  const old = [await launch(before), await launch(before)] as const;
  const balancer = createBalancer();
  for (const service of old) balancer.add(service);
  const traffic = await startLoad(old[0], balancer, arrivals);
  await delay(size.warmupMs);
  const alone = await during(() => delay(size.durationMs));
  const reading = holdTransaction(pool, options.openTransactionSeconds);
  let startedInMs = 0;
  let builtInMs = 0;
  const upgrade = await during(async () => {
    const startedAt = performance.now();
    const service = await launch();
    startedInMs = performance.now() - startedAt;
    say(`the new version serves after ${Math.round(startedInMs)} ms`);
    const waits = service
      .output()
      .split("\n")
      .filter((line) => line.includes("still waiting"));
    for (const line of waits) say(line);
    balancer.add(service);
    for (const one of old) {
      await delay(restMs);
      await balancer.remove(one);
      await one.stop();
    }
    say(`the version before is stopped after ${Math.round(performance.now() - startedAt)} ms`);
    await until(
      () => countUnbuilt(pool),
      (count) => count === 0,
      indexesLimitMs,
    );
    builtInMs = performance.now() - startedAt;
    await delay(restMs);
  });
  await reading;
  await traffic.stop();
  await untilAllArrived(traffic, arrivals);
  const { problems } = balancer;
  const { events } = options;
  return reportOf({ traffic, problems, arrivals, alone, upgrade, startedInMs, builtInMs, events });
}

async function startLoad(service: ServiceProcess, balancer: Balancer, { url }: Arrivals): Promise<Traffic> {
  const account = await signUp(service);
  const webhooks = await Promise.all(
    ["/a", "/b"].map((path) => createWebhookTarget(service, account, url + path)),
  );
  const mailboxId = await createMailboxTarget(service, account);
  const targetIds = [...webhooks.map(({ id }) => id), mailboxId];
  return startTraffic({ balancer, key: account.api_key, targetIds, mailboxId, itemsPerSecond, consumers });
}

async function during(work: () => Promise<unknown>): Promise<Phase> {
  const fromMs = performance.now();
  await work();
  return { fromMs, toMs: performance.now() };
}

async function holdTransaction(pool: pg.Pool, seconds: number): Promise<void> {
  if (seconds === 0) return;
  const client = await pool.connect();
  await client.query("begin; select from events limit 1");
  await delay(seconds * 1_000);
  await client.query("commit");
  client.release();
}

/** Indexes that are not yet built on all partitions. */
async function countUnbuilt(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::integer as count
     from pg_index i
     join pg_class c on c.oid = i.indexrelid
     where c.relkind = 'I'
       and not i.indisvalid`,
  );
  return rows[0]!.count;
}

async function untilAllArrived({ accepted, acknowledged }: Traffic, { counts }: Arrivals): Promise<void> {
  const wanted = [...accepted.values()].reduce((sum, ids) => sum + ids.length, 0);
  // The report counts the items that are missing.
  await until(() => counts.size + acknowledged.length >= wanted).catch(() => undefined);
}

function say(what: string): void {
  process.stderr.write(`  ${what}\n`);
}
