import { randomBytes } from "node:crypto";
import { expect, onTestFinished, vi } from "vitest";
import { startCollector } from "../../../test/support/collector.ts";
import { answerOk, startReceiver } from "../../../test/support/receiver.ts";
import { hotRows, storeDueItems, storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";
import { until } from "../../../test/support/until.ts";
import { noChanges } from "../../items/changes.ts";
import { loadConfig } from "../../config/config.ts";
import { newId } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { createSecretBox } from "../../items/secretBox.ts";
import { sealSigningSecret } from "../../items/signingSecret.ts";
import { createLog } from "../../telemetry/log.ts";
import { telemetryChoice } from "../../telemetry/telemetryChoice.ts";
import { parseTraceparent } from "../../telemetry/traceContext.ts";
import type { MetricValues } from "../../telemetry/metricsText.ts";
import { newSigningSecret } from "../../items/signature.ts";
import { createHelper, type Helper } from "./helpingThread.ts";
import type { ThreadInput } from "./messages.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";

const orgId = newId(0, Date.now());
const encryptionKey = Buffer.alloc(32, 7);
const box = createSecretBox({ current: encryptionKey });

const it = databaseTest()
  /** A webhook with due items, and the place of each target follows from its bucket. */
  .extend(
    "makeTarget",
    file,
    ({ pool }) =>
      async (bucket: number, url: string, count: number): Promise<string> => {
        const id = newId(bucket, Date.now());
        const secret = sealSigningSecret(box, id, newSigningSecret(randomBytes));
        await storeTarget(pool, orgId, { id, url, secret });
        await storeDueItems(pool, { orgId, targetId: id, count });
        return id;
      },
  )
  /** A thread whose log goes to `lines`. */
  .extend(
    "helperWith",
    file,
    ({ database }) =>
      (lines: string[], input: Partial<ThreadInput> = {}, idleMs?: number): Helper => {
        const config = loadConfig({
          POSTRIDER_ALLOW_HTTP_TARGETS: "true",
          POSTRIDER_LOG_REQUESTS: "true",
          POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8",
        });
        const log = createLog("info", {
          destination: {
            write: (text) => void lines.push(...text.trimEnd().split("\n")),
            flush: () => Promise.resolve(),
          },
        });
        const { connection } = database;
        const watchedFlag = new Int32Array(new SharedArrayBuffer(4));
        const helper = createHelper(
          { connection, encryptionKey, previousEncryptionKeys: [], config, watchedFlag, ...input },
          { log, changes: noChanges },
          idleMs,
        );
        onTestFinished(() => helper.stop());
        return helper;
      },
  );

it.beforeAll(async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
  await storeOrganization(pool, orgId);
});

function counted(metrics: MetricValues[][], name: string): number {
  const values = metrics.flat().filter((metric) => metric.name === name);
  return values.flatMap((metric) => metric.values).reduce((sum, { value }) => sum + value, 0);
}

it("sends what is due for the targets it was lent, within their limits, and gives them back", async ({
  makeTarget,
  helperWith,
  pool,
}) => {
  const underWay = new Map<string, number>();
  const most = new Map<string, number>();
  const receiver = await startReceiver((received, response) => {
    const now = (underWay.get(received.path) ?? 0) + 1;
    underWay.set(received.path, now);
    most.set(received.path, Math.max(now, most.get(received.path) ?? 0));
    setImmediate(() => {
      underWay.set(received.path, underWay.get(received.path)! - 1);
      answerOk(received, response);
    });
  });
  onTestFinished(() => receiver.stop());
  const before = await makeTarget(10, `${receiver.url}/before`, 5);
  const wide = await makeTarget(20, `${receiver.url}/wide`, 900);
  const narrow = await makeTarget(30, `${receiver.url}/narrow`, 40);
  const after = await makeTarget(40, `${receiver.url}/after`, 5);
  const lines: string[] = [];
  const helper = helperWith(lines);
  const ends = Promise.all(
    [
      [wide, 6],
      [narrow, 1],
    ].map(
      ([targetId, requests]) =>
        new Promise<void>((resolve) => helper.help(targetId as string, requests as number, resolve)),
    ),
  );
  await ends;
  const paths = receiver.received.map(({ path }) => path);
  expect(paths.filter((path) => path === "/wide")).toHaveLength(900);
  expect(paths.filter((path) => path === "/narrow")).toHaveLength(40);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(940);
  expect(Object.fromEntries(most)).toEqual({
    "/wide": expect.toSatisfy((n: number) => n <= 6),
    "/narrow": 1,
  });
  await until(
    () => hotRows(pool),
    ({ waiting, leased }) => waiting === 10 && leased === 0,
  );
  const { rows } = await pool.query<{ target_id: string }>("select distinct target_id from deliveries");
  expect(new Set(rows.map(({ target_id }) => target_id))).toEqual(new Set([before, after]));
  expect(counted(await helper.metrics(), "postrider_attempts_total")).toBe(940);
  await helper.stop();
  expect(lines.filter((line) => line.includes('"msg":"attempt"'))).toHaveLength(940);
});

it("gives back a target that takes nothing, and what it had of it", async ({
  makeTarget,
  helperWith,
  pool,
}) => {
  const receiver = await startReceiver((_received, response) => response.writeHead(503).end());
  onTestFinished(() => receiver.stop());
  const target = await makeTarget(50, `${receiver.url}/down`, 200);
  const helper = helperWith([]);
  await new Promise<void>((resolve) => helper.help(target, 4, resolve));
  await helper.stop();
  const { rows } = await pool.query<{ tried: number; untried: number; leased: number }>(
    `select
       count(*) filter (where attempts = 1) as tried,
       count(*) filter (where attempts = 0) as untried,
       count(*) filter (where lease_until is not null) as leased
     from deliveries
     where target_id = $1`,
    [target],
  );
  expect(rows[0]!.leased).toBe(0);
  // Ten failures open the circuit; what was under way with the tenth still ends.
  expect(rows[0]!.tried).toBeLessThan(20);
  expect(rows[0]!.tried).toBe(receiver.received.length);
  expect(rows[0]!.tried + rows[0]!.untried).toBe(200);
});

it("ends when it has had nothing to do for a while, starts again when needed, and counts on", async ({
  helperWith,
  makeTarget,
  pool,
}) => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.stop());
  const helper = helperWith([], {}, 1);
  for (const total of [30, 60]) {
    const target = await makeTarget(52, receiver.url, 30);
    await until(helper.isAvailable.bind(helper), (isAvailable) => isAvailable);
    await new Promise<void>((resolve) => helper.help(target, 4, resolve));
    const sessions = "select from pg_stat_activity where datname = current_database()";
    // None but this test's own.
    await until(
      async () => (await pool.query(sessions)).rowCount!,
      (count) => count === 1,
    );
    expect(receiver.received).toHaveLength(total);
    expect(counted(await helper.metrics(), "postrider_attempts_total")).toBe(total);
  }
});

it("gives back a target when the database cannot be reached, and goes on", async ({ helperWith }) => {
  const lines: string[] = [];
  const helper = helperWith(lines, { connection: { url: "postgres://nobody@127.0.0.1:1/none" } });
  await new Promise<void>((resolve) => helper.help(newId(55, 0), 4, resolve));
  expect(helper.isAvailable()).toBe(true);
  await helper.stop();
  expect(lines).toEqual([expect.stringMatching(/"level":40.*ECONNREFUSED.*the target is given back/)]);
});

it("a thread that fails gives everything back, is named in the log, and is left alone for a while", async ({
  helperWith,
}) => {
  const lines: string[] = [];
  const helper = helperWith(lines, { encryptionKey: Buffer.alloc(3) });
  expect(helper.isAvailable()).toBe(true);
  await new Promise<void>((resolve) => helper.help(newId(60, 0), 4, resolve));
  expect(helper.isAvailable()).toBe(false);
  expect(lines).toEqual([
    expect.stringMatching(/"level":50.*an encryption key has 32 bytes.*helping thread/),
  ]);
  expect(await helper.metrics()).toEqual([]);
});

it("what is lent to it after it was told to stop comes back, and starts no thread", async ({
  helperWith,
}) => {
  const helper = helperWith([]);
  await helper.stop();
  let isBack = false;
  helper.help(newId(61, 0), 4, () => (isBack = true));
  expect(isBack).toBe(true);
  expect(helper.isAvailable()).toBe(false);
  expect(await helper.metrics()).toEqual([]);
});

it("traces what it claims and sends, where the process traces", async ({ makeTarget, helperWith, pool }) => {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  for (const [name, value] of Object.entries(collector.env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const receiver = await startReceiver();
  onTestFinished(() => receiver.stop());
  const target = await makeTarget(90, `${receiver.url}/traced`, 1);
  const traceparent = `00-${"5".repeat(32)}-${"6".repeat(16)}-01`;
  await pool.query("update events set trace_context = $2 where target_id = $1", [
    target,
    parseTraceparent(traceparent),
  ]);
  const helper = helperWith([], { telemetry: telemetryChoice(loadConfig(collector.env)) });
  await new Promise<void>((resolve) => helper.help(target, 1, resolve));
  const spans = await collector.arrivals(2, ({ parentSpanId }) => parentSpanId === "6".repeat(16));
  expect(spans.map(({ name, traceId }) => [name, traceId])).toEqual([
    ["claim", "5".repeat(32)],
    ["POST", "5".repeat(32)],
  ]);
  expect(receiver.received[0]!.headers["traceparent"]).toContain(spans[1]!.spanId);
});

it("ends when it is told to, whatever its collector does", async ({ makeTarget, helperWith, pool }) => {
  const collector = await startCollector("hanging");
  onTestFinished(() => collector.stop());
  // Longer than any test.
  const env = { ...collector.env, OTEL_EXPORTER_OTLP_TIMEOUT: "600000" };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const receiver = await startReceiver();
  onTestFinished(() => receiver.stop());
  const target = await makeTarget(91, `${receiver.url}/traced`, 1);
  await pool.query("update events set trace_context = $2 where target_id = $1", [
    target,
    parseTraceparent(`00-${"7".repeat(32)}-${"8".repeat(16)}-01`),
  ]);
  const helper = helperWith([], { telemetry: telemetryChoice(loadConfig(env)) });
  await new Promise<void>((resolve) => helper.help(target, 1, resolve));
  await until(() => collector.requests() > 0);
  await helper.stop();
});
