import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createPool } from "../src/postgres/pool.ts";
import { expectNothingLost } from "./support/afterwards.ts";
import { retryingTargets, unreliable } from "./support/crashes.ts";
import { createEmptyTestDatabase, type TestDatabase } from "./support/database.ts";
import { createRandom } from "./support/billing/random.ts";
import { startLoad } from "./support/load.ts";
import { commandFile, startProgram } from "./support/program.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const dataDir = mkdtempSync(join(tmpdir(), "postrider-move-"));
let database: TestDatabase;
let receiver: Receiver;
let service: ServiceProcess;

beforeAll(async () => {
  database = await createEmptyTestDatabase();
  receiver = await startReceiver(unreliable(createRandom(7)));
  service = await startService({ storage: { dataDir } });
});

afterAll(async () => {
  await service.stop();
  await receiver.stop();
  await database.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

it("the embedded database moves under load, with one command and no lost item", async () => {
  const account = await signUp(service);
  const load = startLoad({
    service: () => service,
    account,
    targetIds: await retryingTargets(service, account, receiver),
    senders: 4,
  });
  await until(
    () => load.acknowledged().length,
    (count) => count >= 100,
  );

  const env = { POSTRIDER_DATA_DIR: dataDir, DATABASE_URL: database.url };
  const refused = startProgram({ command: [process.execPath, commandFile, "move"], env });
  expect((await refused.ended).code).toBe(5);
  expect(refused.output()).toMatch(/--stop-service/);
  const moved = startProgram({ command: [process.execPath, commandFile, "move", "--stop-service"], env });
  expect(await moved.ended, moved.output()).toMatchObject({ code: 0 });
  expect(moved.output()).not.toContain(database.url);
  await service.ended;

  // Whoever starts the service as before, such as a supervisor, must not have it accept items there.
  const asBefore = startProgram({ env: { POSTRIDER_DATA_DIR: dataDir } });
  expect(await asBefore.ended).toMatchObject({ code: 5 });
  expect(asBefore.output()).toMatch(/was moved to .*set DATABASE_URL/);

  const key = readFileSync(join(dataDir, "encryption.key"), "utf8").trim();
  service = await startService({
    storage: { databaseUrl: database.url },
    env: { POSTRIDER_ENCRYPTION_KEY: key },
  });
  const before = load.acknowledged().length;
  await until(
    () => load.acknowledged().length,
    (count) => count >= before + 30,
  );
  await load.stop();
  const pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  try {
    await expectNothingLost({ pool, load, receiver });
  } finally {
    await pool.end();
  }
});
