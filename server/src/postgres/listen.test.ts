import { expect } from "vitest";
import { stageTest as it } from "../../test/support/fixtures.ts";
import { until } from "../../test/support/until.ts";
import { listen } from "./listen.ts";
import { createPool } from "./pool.ts";

it("replaces a connection that does not answer, receives notifications again, and stops in time", async ({
  pool,
  proxy,
  onTestFinished,
}) => {
  const through = createPool({ connection: { url: proxy.url }, size: 1, onError: () => undefined });
  onTestFinished(() => through.end());
  const heard: string[] = [];
  let connects = 0;
  let warnings = 0;
  const listener = listen({
    pool: through,
    log: { warn: () => void warnings++ },
    channel: "listen_test",
    subject: "a test",
    hear: (payload) => void heard.push(payload),
    onConnected: () => void connects++,
    askEveryMs: 20,
  });
  await until(() => connects === 1);
  proxy.frozen = true;
  await until(() => warnings > 0);
  proxy.frozen = false;
  await until(() => connects > 1);
  await pool.query("notify listen_test, 'again'");
  await until(() => heard.includes("again"));
  // Nothing closes the connection: without a time limit, stop would wait for the server.
  proxy.frozen = true;
  await expect(listener.stop()).resolves.toBeUndefined();
});
