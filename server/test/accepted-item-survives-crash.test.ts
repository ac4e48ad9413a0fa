import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runningConnection } from "../src/db/embedded/runningConnection.ts";
import { createPool } from "../src/db/pool.ts";
import { expectNothingLost } from "./support/afterwards.ts";
import { createRandom } from "./support/billing/random.ts";
import { crashUnderLoad, startMortal } from "./support/crashes.ts";
import { createWebhookTarget } from "./support/items.ts";
import { startLoad } from "./support/load.ts";
import { answerOk, startReceiver } from "./support/receiver.ts";
import { signUp } from "./support/testNode.ts";

/** Each seed is another run; `faults/` runs many. */
const seed = 2;
const rounds = 5;

it("what was answered with 202 is delivered, whichever process is killed at whatever moment", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "postrider-crash-items-"));
  const random = createRandom(seed);
  const receiver = await startReceiver((received, response) => {
    // Some answers get lost or are failures, so that there is always something that waits for a retry.
    const luck = random.integer(1, 20);
    if (luck === 1) response.destroy();
    else if (luck === 2) response.writeHead(500).end();
    else answerOk(received, response);
  });
  const mortal = await startMortal(dataDir, { POSTRIDER_DELIVERY_TIMEOUT_MS: "1000" });
  const account = await signUp(mortal.service());
  const schedule = { retry_interval_seconds: 1, max_retries: 50 };
  const targets = await Promise.all(
    Array.from({ length: 5 }, (_, index) =>
      createWebhookTarget(mortal.service(), account, `${receiver.url}/${index}`, schedule),
    ),
  );
  const load = startLoad({
    service: () => mortal.service(),
    account,
    targetIds: targets.map(({ id }) => id),
    senders: 16,
  });
  try {
    const crashes = await crashUnderLoad(mortal, load, { random, rounds });
    await load.stop();
    expect(new Set(crashes).size).toBeGreaterThan(1);
    const connection = await runningConnection(dataDir);
    const pool = createPool({ connection: connection!, size: 1, onError: () => undefined });
    await expectNothingLost({ pool, load, receiver });
    await pool.end();
    expect(await mortal.service().stop()).toBe(0);
  } finally {
    mortal.service().kill("SIGKILL");
    await mortal.service().ended;
    await receiver.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}, 180_000);
