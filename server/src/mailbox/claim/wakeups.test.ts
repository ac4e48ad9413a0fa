import { expect } from "vitest";
import { databaseTest } from "../../../test/support/fixtures.ts";
import { until } from "../../../test/support/until.ts";
import { createWakeups } from "./wakeups.ts";

const it = databaseTest();

it("a node that stops notifies the other nodes of the messages that it has just accepted", async ({
  pool,
  onTestFinished,
}) => {
  const heard = new Set<string>();
  let isListening = false;
  const common = { pool, log: { warn: () => undefined }, retentionMs: 1_000 };
  const other = createWakeups({
    ...common,
    wake: (ids) => [...ids].forEach((id) => heard.add(id)),
    waitedFor: () => ((isListening = true), []),
  });
  other.start();
  onTestFinished(() => other.stop());
  await until(() => isListening);
  const stopping = createWakeups({ ...common, wake: () => undefined, waitedFor: () => [] });
  const [first, second] = ["1".repeat(32), "2".repeat(32)];
  stopping.announce([first]);
  // The first is notified at once; the second falls within the interval after it.
  stopping.announce([second]);
  await stopping.stop();
  await until(() => heard.size === 2);
  expect(heard).toEqual(new Set([first, second]));
});
