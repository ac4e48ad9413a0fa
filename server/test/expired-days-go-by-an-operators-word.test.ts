import { expect } from "vitest";
import { dropOldPartitions } from "../src/maintenance/dropOldPartitions.ts";
import { dayMs, ensurePartitions } from "../src/postgres/partitions.ts";
import { holdReading, isLockAwaited } from "./support/heldLocks.ts";
import { until } from "./support/until.ts";
import { runDatabaseCommand } from "./support/databaseCommand.ts";
import { databaseTest, file } from "./support/fixtures.ts";
import { someKey } from "./support/program.ts";
import { countDaysBefore } from "./support/days.ts";

/* The service itself drops at most two expired days; an operator sees more of them and drops them with a command. */

const it = databaseTest()
  .extend(
    "expiredDays",
    file,
    ({ pool }) =>
      (): Promise<number> =>
        countDaysBefore(pool, "events", Date.now() - 30 * dayMs),
  )
  .extend("dropExpired", file, ({ database }) => async (flag?: "--yes", said?: string[]) => {
    const env = { DATABASE_URL: database.url, POSTRIDER_ENCRYPTION_KEY: someKey };
    const flags = flag === undefined ? [] : [flag];
    const ended = await runDatabaseCommand(["db", "drop-expired", ...flags], env, said);
    expect(ended.code, ended.err).toBe(0);
    return { ...ended, shown: JSON.parse(ended.out) };
  });

it("expired days are shown, and dropped after confirmation", async ({ pool, expiredDays, dropExpired }) => {
  const nowMs = Date.now();
  await ensurePartitions(pool, nowMs - 50 * dayMs);
  const kept = await dropOldPartitions(pool, { retentionDays: 30, nowMs });
  expect(kept.heldDays).toBe(7);
  expect(await expiredDays()).toBe(7);

  const looked = await dropExpired();
  expect(looked.shown).toMatchObject({ retention_days: 30, days: 7, dropped_partitions: 0 });
  expect(looked.err).toContain("add --yes");
  expect(await expiredDays()).toBe(7);

  const { shown } = await dropExpired("--yes");
  expect(shown.days).toBe(7);
  expect(shown.dropped_partitions).toBeGreaterThanOrEqual(7);
  expect(await expiredDays()).toBe(0);
  expect((await dropExpired("--yes")).shown).toMatchObject({
    days: 0,
    first_day: null,
    dropped_partitions: 0,
  });
});

it("two simultaneous commands drop each day once, and each says what it waits for", async ({
  pool,
  expiredDays,
  dropExpired,
}) => {
  await ensurePartitions(pool, Date.now() - 50 * dayMs);
  const letGo = await holdReading(pool, "events");
  const [saidFirst, saidSecond]: [string[], string[]] = [[], []];
  const says = (said: readonly string[], text: string) => until(() => said.join("\n").includes(text));
  const first = dropExpired("--yes", saidFirst);
  await until(() => isLockAwaited(pool, "events"));
  const second = dropExpired("--yes", saidSecond);
  await says(saidFirst, "still waiting for a lock on events");
  await says(saidSecond, "still waiting for another process that drops expired days");
  await letGo();
  const both = await Promise.all([first, second]);
  expect(both.map(({ shown }) => shown.dropped_partitions)).toEqual([expect.any(Number), 0]);
  expect(await expiredDays()).toBe(0);
});
