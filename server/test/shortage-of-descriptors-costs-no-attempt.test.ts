import { execFileSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { expect } from "vitest";
import { createWebhookTarget, sendItem } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { until } from "./support/until.ts";
import { file, serviceTest } from "./support/fixtures.ts";

const items = 60;

/** Longer than the test keeps answers back, so that no attempt is repeated. */
const it = serviceTest({ POSTRIDER_DELIVERY_TIMEOUT_MS: "60000" })
  /** Lets the running service open that many more descriptors: new ones get the lowest free numbers. */
  .extend("leaveDescriptors", file, ({ service }) => async (count: number): Promise<void> => {
    const used = new Set((await readdir(`/proc/${service.pid}/fd`)).map(Number));
    let limit = 0;
    for (let free = 0; free < count; limit++) if (!used.has(limit)) free++;
    execFileSync("prlimit", ["--pid", String(service.pid), `--nofile=${limit}`]);
  });

// The limits of another process can be changed only on Linux.
it.runIf(process.platform === "linux")(
  "items that cannot be sent because file descriptors are exhausted are sent later, and their target is not blamed",
  async ({ service, account, receiver, leaveDescriptors }) => {
    const { id: target } = await createWebhookTarget(service, account, receiver.url);
    const ids: string[] = [];
    // Until the target is known to answer, and may have many requests in flight.
    for (let n = 0; n < 40; n++) ids.push(await sendItem(service, account, target));
    await receiver.arrivals(ids.length);
    const held: (() => void)[] = [];
    receiver.answer = (received, response) => void held.push(() => answerOk(received, response));
    await leaveDescriptors(3);
    for (let n = 0; n < items; n++) ids.push(await sendItem(service, account, target));
    await until(
      () => service.output(),
      (output) => output.includes("could not be sent because this process lacks resources"),
    );
    receiver.answer = answerOk;
    for (const answer of held) answer();
    // 503 as long as the service has no descriptor for a connection to its database.
    const read = (path: string) => service.call("GET", `/api/v1/${path}`, { key: account.api_key });
    for (const id of ids) {
      const { body } = await until(
        () => read(`events/${id}`),
        ({ body: view }) => view.event?.status === "DELIVERED",
      );
      expect(body.delivery_attempts).toMatchObject([{ status_code: 200, error: null }]);
    }
    expect(service.output().match(/could not be sent because this process/g)!.length).toBeLessThan(5);
    const { body } = await until(
      () => read(`targets/${target}`),
      ({ status }) => status === 200,
    );
    expect(body).toMatchObject({ enabled: true });
  },
);
