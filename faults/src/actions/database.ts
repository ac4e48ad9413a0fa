import { setTimeout as delay } from "node:timers/promises";
import { type Action, drawHarmMs } from "./action.ts";

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
  {
    group: "pause",
    weight: 1,
    draw(random, limits) {
      const pauseMs = drawHarmMs(random, limits);
      return {
        group: "pause",
        says: `SIGSTOP the primary's listener for ${pauseMs} ms`,
        act: ({ database }) =>
          database.inTurn(async () => {
            const server = database.primary;
            server.signal("SIGSTOP");
            await delay(pauseMs);
            server.signal("SIGCONT");
          }),
      };
    },
  },
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
  {
    group: "disk",
    weight: 1,
    draw(random, limits) {
      const fullMs = drawHarmMs(random, limits);
      return {
        group: "disk",
        says: `fill the primary's disk for ${fullMs} ms`,
        act: ({ database, disks }) =>
          database.inTurn(async () => {
            if (!disks.canFill) return;
            disks.fill(database.primary.directory);
            await delay(fullMs);
            disks.clear();
            await database.primary.answers();
          }),
      };
    },
  },
];
