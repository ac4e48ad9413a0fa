import { expect, onTestFinished, test, vi } from "vitest";
import { createLog } from "../../telemetry/log.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { mostQuickDeaths, Workers } from "./workers.ts";

/** One process whose workers only record what they are told. */
function oneProcess() {
  const started: { told: ToWorker[]; hear: (message: FromWorker) => void; end: () => void }[] = [];
  const workers = new Workers({
    count: 1,
    port: { fds: [0], socketOf: () => 0, release: () => undefined },
    log: createLog("silent"),
    onEnded: () => undefined,
    start(hear) {
      const told: ToWorker[] = [];
      const { promise: ended, resolve } = Promise.withResolvers<{ code: number; signal: null }>();
      const end = (): void => resolve({ code: 1, signal: null });
      started.push({ told, hear, end });
      return { pid: started.length, tell: (message) => void told.push(message), kill: end, ended };
    },
  });
  workers.load();
  const serving = workers.serve({ connection: { url: "postgres://db/p" }, encryptionKey: "" }, () => []);
  started[0]!.hear({ say: "serves", port: 1, isDashboardBuilt: true, leases: { first: 0, last: 1 } });
  return { workers, started, serving };
}

test("a worker that starts while the embedded database is in trouble is told why", async () => {
  const { workers, started, serving } = oneProcess();
  await serving;
  workers.tellTrouble("the disk is full");
  started[0]!.end();
  await expect.poll(() => started.length).toBe(2);
  expect(started[1]!.told).toContainEqual({ say: "trouble", reason: "the disk is full" });
  await workers.stop(100);
});

test("spares that die again and again do not end the service, and the next one takes a slot", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { workers, started, serving } = oneProcess();
  await serving;
  let failure: string | undefined;
  void workers.failed.then((reason) => (failure = reason));
  const deaths = 2 * mostQuickDeaths(1);
  for (let death = 1; death <= deaths; death++) {
    await vi.advanceTimersByTimeAsync(10_000);
    expect(started).toHaveLength(1 + death);
    started[death]!.end();
  }
  await vi.advanceTimersByTimeAsync(10_000);
  expect(failure).toBeUndefined();
  started[0]!.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(started.at(-1)!.told).toContainEqual(expect.objectContaining({ say: "serve", slot: 0 }));
  await workers.stop(100);
});

test("a spare that is asked to stop is replaced, and gets no slot", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { workers, started, serving } = oneProcess();
  await serving;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(started).toHaveLength(2);
  started[1]!.hear({ say: "stopping" });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(started).toHaveLength(3);
  started[0]!.end();
  await vi.advanceTimersByTimeAsync(0);
  const places = started.map(({ told }) => told.filter(({ say }) => say === "serve").length);
  expect(places).toEqual([1, 0, 1]);
  await workers.stop(100);
});

test("a worker that answered and then leaves a minute's pings unanswered is replaced, one that still loads is not", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { workers, started, serving } = oneProcess();
  await vi.advanceTimersByTimeAsync(60_000);
  await serving;
  for (let minute = 0; minute < 3; minute++) {
    started[0]!.hear({ say: "pong" });
    await vi.advanceTimersByTimeAsync(60_000);
  }
  // The first worker and the spare, which has said nothing yet.
  expect(started).toHaveLength(2);
  expect(started[0]!.told.filter(({ say }) => say === "ping").length).toBeGreaterThan(12);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(started[1]!.told).toContainEqual(expect.objectContaining({ say: "serve", slot: 0 }));
  await workers.stop(100);
});
