import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished } from "vitest";
import { expectNothingLost } from "./support/afterwards.ts";
import { stagedTest } from "./support/fixtures.ts";
import { sendItem } from "./support/items.ts";
import { startLoad } from "./support/load.ts";
import { answerOk } from "./support/receiver.ts";
import { until } from "./support/until.ts";
import { childrenOf, metricOf, servingOf, signal, twoProcesses, untilServing } from "./support/workers.ts";

const it = stagedTest({ ...twoProcesses, POSTRIDER_DELIVERY_TIMEOUT_MS: "1000" }).extend(
  "load",
  ({ service, account, target }) =>
    startLoad({ service: () => service, account, targetIds: [target.id], senders: 16 }),
);

/** Attempts may last longer than a test waits, and so does a share of a target's limit, unless somebody ends it. */
const itWithLongAttempts = stagedTest({ ...twoProcesses, POSTRIDER_DELIVERY_TIMEOUT_MS: "60000" });

const accepted = 'postrider_http_requests_total{method="POST",route="/t/:target_id",status="202"}';

/** Opens one connection after another, and counts the refused ones. */
function keepKnocking(port: number): { refused: () => number; opened: () => number } {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  let refused = 0;
  let opened = 0;
  void (async () => {
    while (!stopping.signal.aborted) {
      await new Promise<void>((resolve) => {
        const socket = connect(port, "127.0.0.1", () => {
          opened++;
          socket.destroy();
        });
        socket.on("error", (error: NodeJS.ErrnoException) => {
          if (error.code === "ECONNREFUSED") refused++;
        });
        socket.once("close", () => resolve());
      });
      await delay(2);
    }
  })();
  return { refused: () => refused, opened: () => opened };
}

describe("a process that is killed", () => {
  it("under load is replaced: nothing acknowledged is lost, the port stays open, and no counter decreases", async ({
    service,
    load,
    pool,
    receiver,
  }) => {
    const knocks = keepKnocking(service.port);
    const kills = 3;
    for (let kill = 0; kill < kills; kill++) {
      const goal = load.acknowledged().length + 100;
      await until(() => load.acknowledged().length >= goal);
      const serving = await untilServing(service, 2);
      const counted = await metricOf(service, accepted);
      process.kill(serving[kill % 2]!, "SIGKILL");
      expect(await metricOf(service, accepted).catch(() => counted)).toBeGreaterThanOrEqual(counted);
      await until(() => servingOf(service).some((pid) => !serving.includes(pid)));
      expect(await metricOf(service, accepted)).toBeGreaterThanOrEqual(counted);
    }
    await load.stop();
    expect(await metricOf(service, "postrider_process_deaths_total")).toBe(kills);
    expect(knocks.opened()).toBeGreaterThan(10);
    expect(knocks.refused()).toBe(0);
    await expectNothingLost({ pool, load, receiver });
    expect(service.output().match(/a process of the service ended unexpectedly/g)).toHaveLength(kills);
    expect(service.output().match(/"after_ms":\d+,"msg":"another process serves"/g)).toHaveLength(kills);
  });

  it("together with all others loses no new connection: clients wait for the next process", async ({
    service,
  }) => {
    const dead = await untilServing(service, 2);
    for (const pid of dead) process.kill(pid, "SIGKILL");
    await until(() => servingOf(service).length === 0);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.call("GET", "/healthz", { headers: { connection: "close" } })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(dead).not.toContain((await untilServing(service, 2))[0]);
  });

  itWithLongAttempts(
    "leaves no leased items and no requests of a limited target in flight: other processes send at once",
    async ({ service, account, target, receiver }) => {
      const limit = { key: account.api_key, body: { max_concurrency: 1 } };
      expect((await service.call("PATCH", `/api/v1/targets/${target.id}`, limit)).status).toBe(200);
      receiver.answer = () => undefined;
      const id = await sendItem(service, account, target.id);
      await receiver.arrivals(1);
      receiver.answer = answerOk;
      for (const pid of await untilServing(service, 2)) process.kill(pid, "SIGKILL");
      await until(() =>
        /"deliveries":1,"msg":"ended the leases of the process that died"/.test(service.output()),
      );
      await receiver.arrivals(2);
      expect(receiver.received.map((one) => one.id)).toEqual([id, id]);
    },
  );

  it("while the database is away is replaced, and serves when the database is back", async ({
    start,
    proxy,
  }) => {
    const service = await start(twoProcesses, proxy.url);
    const dead = await untilServing(service, 2);
    proxy.accepts = false;
    proxy.sever();
    for (const pid of dead) process.kill(pid, "SIGKILL");
    const next = await until(
      () => servingOf(service),
      (pids) => pids.length === 2 && !pids.some((pid) => dead.includes(pid)),
    );
    expect((await fetch(`${service.url}/readyz`)).status).toBe(503);
    proxy.accepts = true;
    await until(async () => (await fetch(`${service.url}/readyz`)).status === 200);
    expect(servingOf(service)).toEqual(next);
  });

  it("repeatedly right after its start ends the service, with a reason and an exit code", async ({
    service,
  }) => {
    await untilServing(service, 2);
    const killer = setInterval(() => {
      for (const pid of childrenOf(service)) signal(pid, "SIGKILL");
    }, 20);
    onTestFinished(() => clearInterval(killer));
    expect(await service.ended).toBe(1);
    expect(service.output()).toMatch(
      /^postrider: 6 processes in a row ended within 5 s of their start, the last one by SIGKILL$/m,
    );
  });

  it("by SIGTERM finishes its work, and is replaced before it ends", async ({
    service,
    load,
    pool,
    receiver,
  }) => {
    await until(() => load.acknowledged().length >= 50);
    const [asked] = await untilServing(service, 2);
    process.kill(asked!, "SIGTERM");
    await until(() => !servingOf(service).includes(asked!));
    await untilServing(service, 2);
    const goal = load.acknowledged().length + 50;
    await until(() => load.acknowledged().length >= goal);
    await load.stop();
    await expectNothingLost({ pool, load, receiver });
    expect(await metricOf(service, "postrider_process_deaths_total")).toBe(0);
  });
});
