import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createPool } from "../src/postgres/pool.ts";
import { refuseMoved } from "../src/process/database/movedMarker.ts";
import { expectNothingLost } from "./support/afterwards.ts";
import { clusterFolder } from "./support/clusterFolder.ts";
import { retryingTargets, unreliable } from "./support/crashes.ts";
import { createEmptyTestDatabase, type TestDatabase } from "./support/database.ts";
import { type Ended, runDatabaseCommand } from "./support/databaseCommand.ts";
import { type DatabaseProxy, startDatabaseProxy } from "./support/databaseProxy.ts";
import { createRandom } from "./support/billing/random.ts";
import { startLoad } from "./support/load.ts";
import { serviceFile, startProgram } from "./support/program.ts";
import { type Receiver, startReceiver } from "./support/receiver.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const dataDir = mkdtempSync(join(clusterFolder(), "postrider-move-"));
const keyFile = join(dataDir, "encryption.key");
let database: TestDatabase;
let proxy: DatabaseProxy;
let receiver: Receiver;
let service: ServiceProcess;

beforeAll(async () => {
  database = await createEmptyTestDatabase();
  proxy = await startDatabaseProxy(database);
  receiver = await startReceiver(unreliable(createRandom(7)));
  service = await startService({ storage: { dataDir } });
});

afterAll(async () => {
  await service.stop();
  await receiver.stop();
  await proxy.stop();
  await database.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Statements of a move after all rows are copied, before and after their commit. */
const [beforeCommit, afterCommit] = ["comment on table organizations", "analyze\0"] as const;

it("the embedded database moves under load without losing items, however often the move is interrupted", async () => {
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
  expect(await move()).toMatchObject({ code: 5, err: expect.stringMatching(/--stop-service/) });

  // An unusable target database is reported before the service is stopped for the move.
  const missing = proxy.url.replace(/\/\w+(?=\?|$)/, "/missing");
  const refused = await runDatabaseCommand(["move", "--stop-service"], {
    ...placesOfMove(),
    DATABASE_URL: missing,
  });
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringMatching(/"missing" does not exist: create it/),
  });
  expect((await service.call("GET", "/readyz")).status).toBe(200);

  // The target database disappears before the end: nothing is changed, and the service may start as before.
  const cut = move("--stop-service");
  await proxy.freezeAt(beforeCommit);
  proxy.sever();
  proxy.frozen = false;
  expect(await cut).toMatchObject({
    code: 1,
    err: expect.stringContaining("Not finished: nothing was moved"),
  });
  expect(() => refuseMoved(dataDir)).not.toThrow();

  // The same when a user presses Ctrl-C or a supervisor stops the command.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const stopped = startProgram({
      command: [process.execPath, serviceFile, "move", "--stop-service"],
      env: placesOfMove(),
    });
    await proxy.freezeAt(beforeCommit);
    stopped.kill(signal);
    expect(await stopped.ended).toEqual({ code: null, signal });
    expect(stopped.output()).toContain(`Stopped by ${signal}: nothing was moved`);
    proxy.sever();
    proxy.frozen = false;
    expect(() => refuseMoved(dataDir)).not.toThrow();
  }

  // The database does not move with a key that cannot decrypt its secrets.
  renameSync(keyFile, `${keyFile}.aside`);
  expect(
    await runDatabaseCommand(["move", "--stop-service"], {
      ...placesOfMove(),
      POSTRIDER_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
    }),
  ).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /Not finished: nothing was moved.*\n.*encryption key is not the one that this/,
    ),
  });
  renameSync(`${keyFile}.aside`, keyFile);

  // Killed before and after the rows are committed there: the old database stays closed.
  for (const moment of [beforeCommit, afterCommit]) {
    const killed = startProgram({
      command: [process.execPath, serviceFile, "move", "--stop-service"],
      env: placesOfMove(),
    });
    await proxy.freezeAt(moment);
    killed.kill("SIGKILL");
    await killed.ended;
    proxy.sever();
    proxy.frozen = false;
    expect(() => refuseMoved(dataDir)).toThrow(/did not end: run postrider move again/);
  }
  await service.ended;
  // Another database of the same server is a different target.
  const elsewhere = proxy.url.replace(/\/\w+(?=\?|$)/, "/postgres");
  const astray = await runDatabaseCommand(["move"], { ...placesOfMove(), DATABASE_URL: elsewhere });
  expect(astray).toMatchObject({ code: 5, err: expect.stringMatching(/did not end/) });
  const finished = await move();
  expect(finished).toMatchObject({
    code: 0,
    err: expect.stringMatching(/since the move that was interrupted; finishing it/),
  });
  expect(finished.err + finished.out).not.toContain(proxy.url);

  // A start with the old settings, such as by a supervisor, must not accept items there, and a second move must
  // not open the old database.
  expect((await move()).code).toBe(5);
  const asBefore = startProgram({ env: { POSTRIDER_DATA_DIR: dataDir } });
  expect(await asBefore.ended).toMatchObject({ code: 5 });
  expect(asBefore.output()).toMatch(/was moved to .*set DATABASE_URL/);

  const key = readFileSync(keyFile, "utf8").trim();
  service = await startService({
    storage: { databaseUrl: database.url },
    env: { POSTRIDER_ENCRYPTION_KEY: key },
  });
  const moved = load.acknowledged().length;
  await until(
    () => load.acknowledged().length,
    (count) => count >= moved + 30,
  );
  await load.stop();
  const pool = createPool({ connection: database.connection, size: 1, onError: () => undefined });
  try {
    await expectNothingLost({ pool, load, receiver });
  } finally {
    await pool.end();
  }
});

function placesOfMove(): Record<string, string> {
  return { POSTRIDER_DATA_DIR: dataDir, DATABASE_URL: proxy.url };
}

function move(...flags: string[]): Promise<Ended> {
  return runDatabaseCommand(["move", ...flags], placesOfMove());
}
