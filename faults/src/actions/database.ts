import { setTimeout as delay } from "node:timers/promises";
import type { World } from "../world/world.ts";
import { type Action, drawHarmMs, type Group } from "./action.ts";

/** What is done to PostgreSQL. */
export const databaseActions: readonly Action[] = [
  {
    group: "database",
    weight: 2,
    draw(random, limits) {
      const signal = random.pick(["SIGKILL", "SIGQUIT"] as const);
      const downMs = drawHarmMs(random, limits);
      return {
        group: "database",
        says: `${signal} to the primary, start it again after ${downMs} ms`,
        act: ({ database }) =>
          database.inTurn(async () => {
            await database.primary.end(signal);
            await delay(downMs);
            await database.primary.start();
          }),
      };
    },
  },
  lasting(
    "pause",
    (ms) => `SIGSTOP the primary's listener for ${ms} ms`,
    async ({ database: { primary } }, ms) => {
      primary.signal("SIGSTOP");
      await delay(ms);
      primary.signal("SIGCONT");
    },
  ),
  {
    group: "terminate",
    weight: 3,
    draw: () => ({
      group: "terminate",
      says: "pg_terminate_backend of every session of the services",
      act: async ({ database }) => {
        await database.primary
          .query(
            `select pg_terminate_backend(pid)
             from pg_stat_activity
             where application_name = 'postrider'`,
          )
          // It may be down at the moment.
          .catch(() => undefined);
      },
    }),
  },
  {
    group: "promote",
    weight: 2,
    draw: () => ({
      group: "promote",
      says: "lose the primary, promote the standby, build another",
      act: ({ database }) => database.inTurn(() => database.promote()),
    }),
  },
  lasting(
    "disk",
    (ms) => `fill the primary's disk for ${ms} ms`,
    async ({ database: { primary }, disks }, ms) => {
      if (!disks.canFill) return;
      disks.fill(primary.directory);
      await delay(ms);
      disks.clear();
      await primary.answers();
    },
  ),
];

/** Harm that goes on for as long as was drawn, while nothing else is done to the database. */
function lasting(
  group: Group,
  says: (ms: number) => string,
  harm: (world: World, ms: number) => Promise<void>,
): Action {
  return {
    group,
    weight: 1,
    draw(random, limits) {
      const ms = drawHarmMs(random, limits);
      return { group, says: says(ms), act: (world) => world.database.inTurn(() => harm(world, ms)) };
    },
  };
}
