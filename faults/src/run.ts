import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Episode, type EpisodeInput, type EpisodeResult, playEpisode, stepsOf } from "./episode.ts";
import type { Session } from "./session.ts";
import { startWorld } from "./world/world.ts";

/** Settings that all episodes of a run share, in addition to the world. */
export type EpisodeSettings = Omit<EpisodeInput, "seed" | "outputFolder" | "say">;

export interface RunInput extends EpisodeSettings {
  /** At least one; in this order. */
  seeds: readonly number[];
  session: Session;
  /** Folder for the database clusters, which may be on a disk in memory. */
  dataFolder: string;
  /** Folder for histories and logs. */
  outputFolder: string;
  /** Reports the progress of a seed, in words. */
  say: (seed: number, line: string) => void;
  /** Called with the result of each seed; returning false ends the run. */
  onResult: (result: EpisodeResult) => boolean;
}

/**
 * Builds a world and plays the episodes in it, one after another, until the end or the first violation, whose
 * leftovers would count against later episodes. At the end every history is compared again with the data stored by
 * then.
 * @returns the number of seeds played, and violations found only at the end, by seed.
 * @throws the error that aborts an episode; then nothing is compared again.
 */
export async function run(input: RunInput): Promise<{ played: number[]; later: Map<number, string[]> }> {
  const { seeds, session, outputFolder, dataFolder } = input;
  for (const folder of [outputFolder, dataFolder]) mkdirSync(folder, { recursive: true });
  const world = await startWorld({
    ...session,
    dataFolder,
    logFolder: outputFolder,
    hasFullDisk: seeds.some((seed) => stepsOf({ ...input, seed }).some(({ group }) => group === "disk")),
  });
  try {
    const episodes: Episode[] = [];
    for (const seed of seeds) {
      const episode = await playEpisode(world, {
        ...input,
        seed,
        outputFolder: join(outputFolder, `seed-${seed}`),
        say: (line) => input.say(seed, line),
      });
      episodes.push(episode);
      const isToGoOn = input.onResult(episode.result);
      if (!isToGoOn || episode.result.violations.length > 0) break;
    }
    return { played: episodes.map(({ result }) => result.seed), later: await judgeAgain(episodes) };
  } finally {
    await world.stop();
  }
}

/** New violations in earlier episodes, caused by later ones. */
async function judgeAgain(episodes: readonly Episode[]): Promise<Map<number, string[]>> {
  const found = new Map<number, string[]>();
  for (const { result, judgeAgain } of episodes.slice(0, -1)) {
    const known = new Set(result.violations);
    const violations = (await judgeAgain()).filter((violation) => !known.has(violation));
    if (violations.length > 0) found.set(result.seed, violations);
  }
  return found;
}
