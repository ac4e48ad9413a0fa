import { setTimeout as delay } from "node:timers/promises";
import { readyWatcher } from "../../../server/test/support/postgresAnswer.ts";
import { httpAnswerEnd } from "../world/wire/answerEnd.ts";
import type { NodeName } from "../world/citus/citusCluster.ts";
import type { Wire } from "../world/wire/wire.ts";
import type { World } from "../world/world.ts";
import { type Action, drawHarmMs } from "./action.ts";

type Wires = Readonly<Record<string, (world: World) => Wire>>;

/** Connections that can be harmed when there is one database server. */
const usualWires: Wires = {
  "clients to service-1": ({ services }) => services[0].clients,
  "clients to service-2": ({ services }) => services[1].clients,
  "service-1 to PostgreSQL": ({ services }) => services[0].database,
  "service-2 to PostgreSQL": ({ services }) => services[1].database,
  "services to receivers": ({ wires: { receivers } }) => receivers,
  "services to the agent": ({ wires: { agent } }) => agent,
  "standby to primary": ({ wires: { replication } }) => replication,
};

/** Connections of the services and of the other nodes to the workers. */
function wiresTo(workers: readonly NodeName[]): Wires {
  return Object.fromEntries(
    workers.map((name) => [`everybody to ${name}`, (world: World) => world.citus!.wireTo(name)]),
  );
}

/** Calls whose answer can be swallowed after their commit, and the bytes by which the proxy recognizes each. */
export const calls: Readonly<Record<string, Buffer>> = {
  "an acceptance": Buffer.from("accept_items\0"),
  "a publication": Buffer.from("publish_items\0"),
  "a claim of deliveries": Buffer.from("claim_deliveries\0"),
  "a record of attempts": Buffer.from("finish_deliveries\0"),
  "a claim of messages": Buffer.from("claim_messages\0"),
  "an end of messages": Buffer.from("close_messages\0"),
  "a change of claims": Buffer.from("change_claims\0"),
  "a batch of a replay": Buffer.from("advance_replay\0"),
  "a handoff's record": Buffer.from("record_handoff\0"),
  "a handoff's beginning": Buffer.from("begin_handoff\0"),
  COMMIT: Buffer.from("commit\0"),
};

/** Faults of connections. @param workers the Citus workers; empty with one database server. */
export function networkActions(workers: readonly NodeName[]): readonly Action[] {
  const wires: Wires = { ...usualWires, ...wiresTo(workers) };
  const wireNames = Object.keys(wires);
  return [
    {
      group: "cut",
      weight: 5,
      draw(random, limits) {
        const [name, awayMs] = [random.pick(wireNames), drawHarmMs(random, limits)];
        const isAtOnceBack = random.chance(0.3);
        return {
          group: "cut",
          kind: `cut of ${name}`,
          says: isAtOnceBack ? `cut ${name}` : `cut ${name}, and refuse for ${awayMs} ms`,
          async act(world) {
            const wire = wires[name]!(world);
            if (!isAtOnceBack) wire.mode = "refuse";
            wire.cut();
            if (isAtOnceBack) return;
            await delay(awayMs);
            wire.mode = "pass";
          },
        };
      },
    },
    {
      group: "cut",
      weight: 2,
      draw(random, limits) {
        // A delayed message can reach the agent after its repetition; the agent cannot tell the two apart.
        const name = random.pick(wireNames.filter((one) => one !== "services to the agent"));
        const hangMs = drawHarmMs(random, limits);
        return {
          group: "cut",
          kind: `silence of ${name}`,
          says: `let nothing through from ${name} for ${hangMs} ms`,
          async act(world) {
            const wire = wires[name]!(world);
            wire.mode = "freeze";
            await delay(hangMs);
            wire.mode = "pass";
          },
        };
      },
    },
    {
      group: "delay",
      weight: 3,
      draw(random, limits) {
        const [name, forMs] = [random.pick(wireNames), drawHarmMs(random, limits)];
        const delayMs = random.integer(2, 200);
        return {
          group: "delay",
          says: `delay ${name} by ${delayMs} ms for ${forMs} ms`,
          async act(world) {
            const wire = wires[name]!(world);
            wire.delayMs = delayMs;
            await delay(forMs);
            wire.delayMs = 0;
          },
        };
      },
    },
    {
      group: "swallow",
      weight: 5,
      draw(random) {
        const [call, n] = [random.pick(Object.keys(calls)), random.integer(0, 1) as 0 | 1];
        return {
          group: "swallow",
          says: `swallow PostgreSQL's answer to ${call} of service-${n + 1}`,
          async act({ services }) {
            services[n].database.swallowAnswer({ request: calls[call]!, answerEnd: readyWatcher });
          },
        };
      },
    },
    {
      group: "swallow",
      weight: 3,
      draw(random) {
        const name = random.pick(wireNames.filter((one) => !/PostgreSQL|standby|worker/.test(one)));
        const count = random.integer(1, 5);
        return {
          group: "swallow",
          says: `swallow ${count} answers to ${name}`,
          async act(world) {
            for (let n = 0; n < count; n++)
              wires[name]!(world).swallowAnswer({ request: undefined, answerEnd: httpAnswerEnd });
          },
        };
      },
    },
  ];
}
