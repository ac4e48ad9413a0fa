import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runningConnection } from "../../src/postgres/embedded/runningConnection.ts";
import { createPool } from "../../src/postgres/pool.ts";
import { showAllCells, shownSchema } from "./database.ts";
import { expectNothingLost } from "./afterwards.ts";
import { createRandom, type Random } from "./billing/random.ts";
import { until } from "./until.ts";
import { createWebhookTarget } from "./items.ts";
import { type Load, startLoad } from "./load.ts";
import { answerOk, type AnswerTo, type Receiver, startReceiver } from "./receiver.ts";
import { startService, type ServiceProcess } from "./serviceProcess.ts";
import { type Account, signUp } from "./testNode.ts";
import { clusterFolder } from "./clusterFolder.ts";

/** A service with its own database that `crash` can kill. */
interface Mortal {
  /** The running service; a new process after each crash. */
  service(): ServiceProcess;
  /** Kills something without warning, chosen at random, and restarts what does not restart by itself. */
  crash(random: Random): Promise<string>;
}

const ways = ["the service", "its database", "both at once"] as const;

async function startMortal(dataDir: string, env: Record<string, string>): Promise<Mortal> {
  let service = await startService({ storage: { dataDir }, env });

  async function killDatabase(): Promise<void> {
    const record = await readFile(join(dataDir, "postgresql", "postmaster.pid"), "utf8");
    try {
      process.kill(Number(record.split("\n")[0]), "SIGKILL");
    } catch (error) {
      // The process died in an earlier crash and is being restarted.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  return {
    service: () => service,
    async crash(random) {
      const way = random.pick(ways);
      if (way !== "the service") await killDatabase();
      if (way !== "its database") {
        service.kill("SIGKILL");
        await service.ended;
        service = await startService({ storage: { dataDir }, env });
      }
      return way;
    },
  };
}

/**
 * Kills the service and its database repeatedly under load, and then checks the promises.
 * @returns what was killed, in order.
 */
export async function surviveCrashes({ seed, rounds }: { seed: number; rounds: number }): Promise<string[]> {
  const random = createRandom(seed);
  const dataDir = mkdtempSync(join(clusterFolder(), "postrider-crashes-"));
  // The receiver has a random source of its own: with a shared one, the crashes would depend on the machine's
  // speed.
  const receiver = await startReceiver(unreliable(createRandom(seed + 1_000_000)));
  const mortal = await startMortal(dataDir, { POSTRIDER_DELIVERY_TIMEOUT_MS: "1000" });
  try {
    const account = await signUp(mortal.service());
    const load = startLoad({
      service: () => mortal.service(),
      account,
      targetIds: await retryingTargets(mortal.service(), account, receiver),
      customer: await customerWithTargets(mortal.service(), account, receiver),
      senders: 16,
    });
    const crashes = await crashUnderLoad(mortal, load, { random, rounds });
    await load.stop();
    const connection = await runningConnection(dataDir);
    const options = { connection: connection!, size: 1, onError: () => undefined };
    if (shownSchema !== undefined) {
      const plain = createPool(options);
      await showAllCells(plain);
      await plain.end();
    }
    const pool = createPool({ ...options, schema: shownSchema });
    await expectNothingLost({ pool, load, receiver });
    await pool.end();
    await mortal.service().stop();
    return crashes;
  } finally {
    mortal.service().kill("SIGKILL");
    await mortal.service().ended;
    await receiver.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** A receiver that loses some answers and fails some requests, so that items always wait for a retry. */
export function unreliable(random: Random): AnswerTo {
  return (received, response) => {
    const luck = random.integer(1, 20);
    if (luck === 1) response.destroy();
    else if (luck === 2) response.writeHead(500).end();
    else answerOk(received, response);
  };
}

const soonAgain = { retry_interval_seconds: 1, max_retries: 50 };

/** Creates targets with a short retry interval, and retries that last longer than any fault. */
export async function retryingTargets(
  service: ServiceProcess,
  account: Account,
  receiver: Receiver,
): Promise<string[]> {
  const targets = await Promise.all(
    Array.from({ length: 5 }, (_, index) =>
      createWebhookTarget(service, account, `${receiver.url}/${index}`, soonAgain),
    ),
  );
  return targets.map(({ id }) => id);
}

/** Creates a customer with three such targets. @returns its uid. */
async function customerWithTargets(
  service: ServiceProcess,
  account: Account,
  receiver: Receiver,
): Promise<string> {
  const uid = "shop";
  await service.call("PUT", `/api/v1/customers/${uid}`, { key: account.api_key, body: {} });
  const fields = { ...soonAgain, customer_uid: uid };
  for (let n = 0; n < 3; n++)
    await createWebhookTarget(service, account, `${receiver.url}/shop-${n}`, fields);
  return uid;
}

/** Crashes after some items were acknowledged, repeatedly; some more are acknowledged after the last crash. */
async function crashUnderLoad(
  mortal: Mortal,
  load: Load,
  { random, rounds }: { random: Random; rounds: number },
): Promise<string[]> {
  const done: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const goal = load.acknowledged().length + random.integer(20, 300);
    await until(
      () => {
        return load.acknowledged().length >= goal;
      },
      Boolean,
      60_000,
    );
    done.push(await mortal.crash(random));
  }
  const goal = load.acknowledged().length + 50;
  await until(() => load.acknowledged().length >= goal, Boolean, 60_000);
  return done;
}
