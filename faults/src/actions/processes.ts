import { setTimeout as delay } from "node:timers/promises";
import type { ServiceSlot, Version } from "../world/serviceSlot.ts";
import { type Action, drawHarmMs, type Step } from "./action.ts";

/** Faults of the service's processes. */
export const serviceActions: readonly Action[] = [
  ending("kill", { weight: 4, signal: "SIGKILL", says: "kill -9" }),
  ending("stop", { weight: 2, signal: "SIGTERM", says: "SIGTERM" }),
  {
    group: "pause",
    weight: 3,
    draw(random, limits) {
      const [n, pauseMs] = [random.integer(0, 1) as 0 | 1, drawHarmMs(random, limits)];
      return toService("pause", n, `SIGSTOP % for ${pauseMs} ms`, async (slot) => {
        slot.signal("SIGSTOP");
        await delay(pauseMs);
        slot.signal("SIGCONT");
      });
    },
  },
  {
    group: "clock",
    weight: 1,
    draw(random) {
      const n = random.integer(0, 1) as 0 | 1;
      const skewMs = random.pick([-1, 1]) * random.integer(1_000, 240_000);
      return toService("clock", n, `start % again with its clock wrong by ${skewMs} ms`, async (slot) => {
        await slot.end("SIGTERM");
        slot.skewMs = skewMs;
      });
    },
  },
  {
    group: "upgrade",
    weight: 2,
    draw(random) {
      const n = random.integer(0, 1) as 0 | 1;
      return toService("upgrade", n, "replace % by the other version", async (slot) => {
        await slot.end("SIGTERM");
        const other: Record<Version, Version> = { this: "before", before: "this" };
        slot.version = other[slot.version];
      });
    },
  },
];

/** Returns an action that ends a process with a signal and starts it again later. */
function ending(
  group: "kill" | "stop",
  { weight, signal, says }: { weight: number; signal: "SIGKILL" | "SIGTERM"; says: string },
): Action {
  return {
    group,
    weight,
    draw(random, limits) {
      const [n, downMs] = [random.integer(0, 1) as 0 | 1, drawHarmMs(random, limits)];
      return toService(group, n, `${says} %, start it again after ${downMs} ms`, async (slot) => {
        await slot.end(signal);
        await delay(downMs);
      });
    },
  };
}

/** @param says description, in which `%` stands for the service's name. */
function toService(
  group: Step["group"],
  n: 0 | 1,
  says: string,
  act: (slot: ServiceSlot) => Promise<void>,
): Step {
  return {
    group,
    says: says.replace("%", `service-${n + 1}`),
    act({ services }) {
      const slot = services[n];
      return slot.inTurn(async () => {
        await act(slot);
        await slot.serves();
      });
    },
  };
}
