import { expect } from "vitest";
import { isPlain } from "../../../test/support/plain.ts";
import { stageTest as it } from "../../../test/support/fixtures.ts";
import { until } from "../../../test/support/until.ts";
import { createPool } from "../pool.ts";
import { callHot } from "./hotCall.ts";
import { limitQueries, unanswered } from "./queryLimit.ts";

const limitMs = 20;

it("limits a hot call even if it waited for a connection for longer than its limit", async ({
  proxy,
  onTestFinished,
}) => {
  const newPool = () =>
    createPool({ connection: { url: proxy.url }, size: 1, onError: () => undefined, isPlain });
  const [pool, other] = [newPool(), newPool()];
  onTestFinished(async () => void (await Promise.all([pool.end(), other.end()])));
  await other.query("select 1");
  const held = await pool.connect();
  proxy.frozen = true;
  const call = { name: "one", text: "select 1 as one", values: [] };
  const waits = callHot(limitQueries(pool, limitMs), call).catch((error: Error) => error.message);
  await until(() => pool.waitingCount === 1);
  // The second call began later with the same limit; when it has failed, the limit of the first one is over, too.
  await expect(callHot(limitQueries(other, limitMs), call)).rejects.toThrow(unanswered);
  held.release();
  expect(await waits).toBe(unanswered);
});
