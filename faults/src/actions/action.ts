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

/** One thing that is done to the world, with everything that was left to chance already drawn. */
export interface Step {
  group: Group;
  /** By what its recovery is counted, such as "SIGKILL of worker-1"; the group unless given. */
  kind?: string;
  /** In words, with its numbers: a schedule is a list of these. */
  says: string;
  /** Ends its harm, too; heal() ends the rest. Resolves to what became of it, where that is not always the same. */
  act(world: World): Promise<string | void>;
}

export interface Action {
  group: Group;
  /** How often it is drawn, compared with others. */
  weight: number;
  draw(random: Random, limits: Limits): Step;
}

export interface Limits {
  /** The longest harm of one step, milliseconds. */
  harmMs: number;
}

/** How long a step does its harm: mostly short. */
export function drawHarmMs(random: Random, { harmMs }: Limits): number {
  const longestMs = random.chance(0.3) ? harmMs : harmMs / 4;
  return random.integer(50, Math.round(longestMs));
}
