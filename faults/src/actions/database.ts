import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../../server/test/support/billing/random.ts";
import { type Action, drawHarmMs } from "./action.ts";

/** Faults of PostgreSQL. @param nodes names of the servers; with more servers, each still has as many faults. */
export function databaseActions(nodes: readonly string[]): readonly Action[] {
  // With one node nothing is drawn, so that existing seeds keep their schedules.
  const drawNode = (random: Random): string => (nodes.length === 1 ? nodes[0]! : random.pick(nodes));
  return [
    {
      group: "database",
      weight: nodes.length + 1,
      draw(random, limits) {
        const signal = random.pick(["SIGKILL", "SIGQUIT"] as const);
        const downMs = drawHarmMs(random, limits);
        const name = drawNode(random);
        return {
          group: "database",
          kind: `${signal} of ${name}`,
          says: `${signal} to the ${name}, start it again after ${downMs} ms`,
          act: ({ database }) => {
            const node = database.nodes[name]!;
            return node.inTurn(async () => {
              await node.primary.end(signal);
              await delay(downMs);
              await node.primary.start();
            });
          },
        };
      },
    },
    {
      group: "pause",
      weight: nodes.length,
      draw(random, limits) {
        const ms = drawHarmMs(random, limits);
        const name = drawNode(random);
        return {
          group: "pause",
          kind: `pause of ${name}`,
          says: `SIGSTOP the ${name}'s listener for ${ms} ms`,
          act: ({ database }) => {
            const node = database.nodes[name]!;
            return node.inTurn(async () => {
              node.primary.signal("SIGSTOP");
              await delay(ms);
              node.primary.signal("SIGCONT");
            });
          },
        };
      },
    },
    {
      group: "terminate",
      weight: 3,
      draw: (random) => {
        const name = drawNode(random);
        return {
          group: "terminate",
          says: `pg_terminate_backend of every session of the services on the ${name}`,
          act: async ({ database }) => {
            await database.nodes[name]!.primary.query(
              `select pg_terminate_backend(pid)
                 from pg_stat_activity
                 where application_name = 'postrider'`,
            )
              // The server may be down at this moment.
              .catch(() => undefined);
          },
        };
      },
    },
    {
      group: "promote",
      weight: 2,
      draw: () => ({
        group: "promote",
        says: "lose the primary, promote the standby, build another",
        act: ({ database }) => database.promote(),
      }),
    },
    {
      group: "disk",
      weight: 1,
      draw(random, limits) {
        const ms = drawHarmMs(random, limits);
        return {
          group: "disk",
          says: `fill the primary's disk for ${ms} ms`,
          act: ({ database: { nodes }, disks }) => {
            const node = nodes["primary"]!;
            return node.inTurn(async () => {
              if (!disks.canFill) return;
              disks.fill(node.primary.directory);
              await delay(ms);
              disks.clear();
              await node.primary.answers();
            });
          },
        };
      },
    },
  ];
}
