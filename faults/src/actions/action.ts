import type { Random } from "../../../server/test/support/billing/random.ts";
import type { World } from "../world/world.ts";

/** Kinds of actions, as named in `--only`. */
export const groups = [
  "kill",
  "stop",
  "pause",
  "cut",
  "delay",
  "swallow",
  "terminate",
  "database",
  "promote",
  "disk",
  "clock",
  "upgrade",
  "move",
] as const;
export type Group = (typeof groups)[number];

/** One step of a schedule: a fault whose random parameters are already drawn. */
export interface Step {
  group: Group;
  /** Name under which the recovery time is reported, such as "SIGKILL of worker-1"; the group if absent. */
  kind?: string;
  /** Description of the step with its parameters, for the printed schedule. */
  says: string;
  /**
   * Applies the fault and ends most of its effects; `heal()` ends the rest. Resolves to the outcome of steps whose
   * outcome varies.
   */
  act(world: World): Promise<string | void>;
}

export interface Action {
  group: Group;
  /** Relative probability of being drawn. */
  weight: number;
  draw(random: Random, limits: Limits): Step;
}

export interface Limits {
  /** Longest duration of one step's fault, milliseconds. */
  harmMs: number;
}

/** Draws the duration of a fault, usually a short one. */
export function drawHarmMs(random: Random, { harmMs }: Limits): number {
  const longestMs = random.chance(0.3) ? harmMs : harmMs / 4;
  return random.integer(50, Math.round(longestMs));
}
