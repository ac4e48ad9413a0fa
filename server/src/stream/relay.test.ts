import { expect } from "vitest";
import { stageTest as test } from "../../test/support/fixtures.ts";
import { until } from "../../test/support/until.ts";
import { notify } from "../postgres/listen.ts";
import { createPool } from "../postgres/pool.ts";
import { createRelay } from "./relay.ts";

const it = test.extend("relay", ({ proxy }, { onCleanup }) => {
  const seen = { heard: 0, gaps: 0, warnings: 0 };
  const pool = createPool({ connection: { url: proxy.url }, size: 1, onError: () => undefined });
  const relay = createRelay({
    pool,
    log: { warn: () => void seen.warnings++ },
    nodeId: "here",
    hear: () => void seen.heard++,
    onGap: () => void seen.gaps++,
  });
  onCleanup(async () => {
    await relay.stop();
    await pool.end();
  });
  return Object.assign(seen, { relay });
});

it("hears all that other nodes tell from the moment it listens", async ({ relay, pool }) => {
  // Without it, to connect might take as long as the other connection does.
  await pool.query("select 1");
  await relay.relay.listen();
  const log = { warn: () => undefined };
  await notify({ pool, log }, { channel: "postrider_changes", payloads: ["there org []"], lost: "" });
  await until(() => relay.heard === 1);
  expect(relay.gaps).toBe(0);
});

it("says that frames may be missing when its first connection came late", async ({ relay, proxy }) => {
  proxy.accepts = false;
  await relay.relay.listen();
  await until(() => relay.warnings > 0);
  proxy.accepts = true;
  await until(() => relay.gaps === 1);
});
