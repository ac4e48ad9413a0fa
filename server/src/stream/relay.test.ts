import { expect } from "vitest";
import { stageTest as test, testPool } from "../../test/support/fixtures.ts";
import { until } from "../../test/support/until.ts";
import { notify } from "../postgres/listen.ts";
import { createPool } from "../postgres/pool.ts";
import type { Frame } from "./gatherChanges.ts";
import { createRelay } from "./relay.ts";

const it = test.extend("relay", ({ proxy }, { onCleanup }) => {
  const seen = { heard: 0, gaps: 0, warnings: 0, frames: [] as Frame[] };
  const pool = createPool({ connection: { url: proxy.url }, size: 1, onError: () => undefined });
  const relay = createRelay({
    pool,
    log: { warn: () => void seen.warnings++ },
    nodeId: "here",
    hear(_orgId, frames) {
      seen.heard++;
      seen.frames.push(...frames);
    },
    onGap: () => void seen.gaps++,
  });
  onCleanup(async () => {
    await relay.stop();
    await pool.end();
  });
  return Object.assign(seen, { relay });
});

it("receives all frames that other nodes send after it listens", async ({ relay, pool }) => {
  // Without this, connecting could take as long as on the other connection.
  await pool.query("select 1");
  await relay.relay.listen();
  const log = { warn: () => undefined };
  await notify({ pool, log }, { channel: "postrider_changes", payloads: ["there org []"], lost: "" });
  await until(() => relay.heard === 1);
  expect(relay.gaps).toBe(0);
});

it("outlives notifications that others send on its channel", async ({ relay, pool }) => {
  await relay.relay.listen();
  const log = { warn: () => undefined };
  const payloads = [
    "",
    "hello",
    "there org [",
    "there org 5",
    "there org [5]",
    'there org [{"type":"item"}]',
  ];
  await notify({ pool, log }, { channel: "postrider_changes", payloads, lost: "" });
  await notify({ pool, log }, { channel: "postrider_changes", payloads: ["there org []"], lost: "" });
  await until(() => relay.heard === 1);
  expect(relay.frames).toEqual([]);
  expect(relay.warnings).toBe(payloads.length);
});

it("reports that frames may be missing if its first connection came late", async ({ relay, proxy }) => {
  proxy.accepts = false;
  await relay.relay.listen();
  await until(() => relay.warnings > 0);
  proxy.accepts = true;
  await until(() => relay.gaps === 1);
});

const itTells = it.extend("teller", ({ database }, { onCleanup }) => {
  const pool = testPool(database, 2);
  const warnings: object[] = [];
  const teller = createRelay({
    pool,
    log: { warn: (fields: object) => void warnings.push(fields) },
    nodeId: "there",
    hear: () => undefined,
    onGap: () => undefined,
  });
  onCleanup(async () => {
    await teller.stop();
    await pool.end();
  });
  return { teller, pool, warnings };
});

itTells(
  "sends frames in order, even if one connection is slower than the next",
  async ({ relay, teller: { teller, pool } }) => {
    await relay.relay.listen();
    const clients = [await pool.connect(), await pool.connect()];
    // The next statement would use the connection that was released last.
    const slow = clients[1]!.query("select pg_sleep(1)");
    for (const client of clients) client.release();
    for (const data of ["1", "2", "3"]) teller.tell(new Map([["org", [{ type: "item", data }]]]));
    await slow;
    await until(() => relay.frames.length === 3);
    expect(relay.frames.map(({ data }) => data)).toEqual(["1", "2", "3"]);
  },
);

itTells(
  "drops frames above the limit while the database accepts none, with a warning",
  async ({ relay, teller: { teller, warnings } }) => {
    await relay.relay.listen();
    const frames = [{ type: "item" as const, data: "1" }];
    teller.tell(new Map(Array.from({ length: 1_200 }, (_, org) => [`org${org}`, frames])));
    await until(() => relay.heard === 1_000);
    expect(warnings).toEqual([{ dropped: 200 }]);
  },
);
