import { expect, test } from "vitest";
import { createLog } from "../../telemetry/log.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { Workers } from "./workers.ts";

test("a worker that starts while the embedded database is in trouble is told why", async () => {
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
  const [first] = started;
  first!.hear({ say: "serves", port: 1, isDashboardBuilt: true, leases: { first: 0, last: 1 } });
  await serving;
  workers.tellTrouble("the disk is full");
  first!.end();
  await expect.poll(() => started.length).toBe(2);
  expect(started[1]!.told).toContainEqual({ say: "trouble", reason: "the disk is full" });
  await workers.stop(100);
});
