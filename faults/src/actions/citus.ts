import { readyWatcher } from "../../../server/test/support/postgresAnswer.ts";
import { cellSchemas } from "../../../server/src/postgres/cells.ts";
import { nodeNames } from "../world/citus/citusCluster.ts";
import type { Action } from "./action.ts";
import { calls } from "./network.ts";

/** Statements that Citus nodes, or services connected directly to a worker, send to a worker. */
const callsToWorkers: Readonly<Record<string, Buffer>> = {
  ...calls,
  "PREPARE TRANSACTION": Buffer.from("PREPARE TRANSACTION"),
  "COMMIT PREPARED": Buffer.from("COMMIT PREPARED"),
  "the coordinator's COMMIT": Buffer.from("COMMIT\0"),
};

/** Faults that only a Citus cluster has. */
export const citusActions: readonly Action[] = [
  {
    group: "move",
    weight: 2,
    draw(random) {
      const luck = random.integer(0, 2 ** 16);
      return {
        group: "move",
        says: `move cell ${luck} to the other worker`,
        async act({ citus, cells }) {
          const schema = cellSchemas(cells)[luck % cells]!;
          try {
            await citus!.moveCell(schema);
            return `moved ${schema}`;
          } catch (error) {
            // The move may fail because of another fault. Its leftovers are checked at the end.
            return `${schema} not moved: ${(error as Error).message}`;
          }
        },
      };
    },
  },
  {
    group: "swallow",
    weight: 3,
    draw(random) {
      const worker = random.pick(nodeNames.slice(1));
      const call = random.pick(Object.keys(callsToWorkers));
      return {
        group: "swallow",
        says: `swallow the answer of ${worker} to ${call}`,
        act({ citus }) {
          const what = { request: callsToWorkers[call]!, answerEnd: readyWatcher };
          citus!.wireTo(worker).swallowAnswer(what);
          return Promise.resolve();
        },
      };
    },
  },
];
