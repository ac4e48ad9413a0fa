import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { clusterFolder } from "./support/clusterFolder.ts";
import { isRunning } from "./support/embeddedProcess.ts";
import { stagedTest } from "./support/fixtures.ts";
import { createWebhookTarget, sendItems } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { startService, type ServiceProcess } from "./support/serviceProcess.ts";
import { hotRows } from "./support/storedItems.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { childrenOf, groupOf, signal, twoProcesses } from "./support/workers.ts";

const it = stagedTest(twoProcesses);

/** Starts a service with an embedded database; returns it with its folder. */
async function startEmbedded(env: Record<string, string> = {}): Promise<[ServiceProcess, string]> {
  const dataDir = mkdtempSync(join(clusterFolder(), "postrider-processes-"));
  const service = await startService({ storage: { dataDir }, env: { ...twoProcesses, ...env } });
  onTestFinished(async () => {
    service.kill("SIGKILL");
    await service.ended;
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  return [service, dataDir];
}

/** Two serving processes, a spare, PostgreSQL and its guard. */
const ofEmbedded = 5;

/** The process ids that wrote a log line with this message. */
function writersOf(service: ServiceProcess, message: string): string[] {
  return [...service.output().matchAll(new RegExp(`"pid":(\\d+),.*"msg":"${message}"`, "g"))].map(
    ([, pid]) => pid!,
  );
}

describe("a service of two processes", () => {
  it("that is told to stop ends its processes one after another, finishes all work in progress, and exits with code 0", async ({
    service,
    account,
    target,
    pool,
    receiver,
  }) => {
    const held: (() => void)[] = [];
    receiver.answer = (received, response) => void held.push(() => answerOk(received, response));
    const ids = await sendItems(service, account, target.id, 40);
    await receiver.arrivals(1);
    const children = await until(
      () => childrenOf(service),
      ({ length }) => length === 3,
    );
    const stopped = service.stop();
    await until(() => writersOf(service, "stopping").length === 1);
    receiver.answer = answerOk;
    for (const answer of held) answer();
    expect(await stopped).toBe(0);
    expect(children.filter(isRunning)).toEqual([]);
    expect((await hotRows(pool)).leased).toBe(0);
    const [first, second] = writersOf(service, "stopping");
    expect(writersOf(service, "stopped")).toEqual([first, second, String(service.pid)]);
    const delivered = receiver.received.map(({ id }) => id);
    expect(delivered).toHaveLength(new Set(delivered).size);
    expect(delivered.length + (await hotRows(pool)).waiting).toBe(ids.length);
  });

  it.for(["SIGINT", "SIGTERM"] as const)(
    "with an embedded database leaves no process after a %s to all of its processes, as a terminal sends it",
    async (name) => {
      const [service] = await startEmbedded();
      const children = await until(
        () => childrenOf(service),
        ({ length }) => length === ofEmbedded,
      );
      const group = groupOf(service);
      // PostgreSQL and its guard are in separate sessions.
      expect(group).toHaveLength(ofEmbedded - 1);
      for (const pid of group) signal(pid, name);
      expect(await service.ended).toBe(0);
      await until(() => children.filter(isRunning).length === 0);
      expect(service.output()).not.toMatch(/ended unexpectedly|did not shut down/);
    },
  );

  it("whose supervisor is killed leaves no process, and acknowledged items are delivered after the next start", async ({
    receiver,
  }) => {
    const [service, dataDir] = await startEmbedded();
    const account = await signUp(service);
    const target = await createWebhookTarget(service, account, receiver.url);
    const children = await until(
      () => childrenOf(service),
      ({ length }) => length === ofEmbedded,
    );
    const ids = await sendItems(service, account, target.id, 40);
    service.kill("SIGKILL");
    await until(() => children.filter(isRunning).length === 0);
    const next = await startService({ storage: { dataDir }, env: twoProcesses });
    await until(() => new Set(receiver.received.map(({ id }) => id)).size === ids.length);
    expect(await next.stop()).toBe(0);
  });
});
