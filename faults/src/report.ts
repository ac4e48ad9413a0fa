import { appendFileSync } from "node:fs";
import type { EpisodeResult } from "./episode.ts";
import type { Options } from "./options.ts";

const shownViolations = 20;

/** Where a seed was played. */
export interface Place {
  /** The seeds that were played in its world before it. */
  before: readonly number[];
  /** Of the world's histories and logs. */
  outputFolder: string;
}

/** Tells of each seed on the standard output, and in a file of lines of JSON where one was named. */
export interface Report {
  played(result: EpisodeResult, place: Place): void;
  /** What was found of a seed's items when its world ended, after the seeds `after` it. */
  foundLater(seed: number, violations: readonly string[], after: Place & { after: readonly number[] }): void;
  brokeOff(seed: number, error: Error, place: Place): void;
}

export function createReport(options: Options): Report {
  const write = (line: object): void => {
    if (options.log !== undefined) appendFileSync(options.log, `${JSON.stringify(line)}\n`);
  };
  return {
    played(result, place) {
      const { seed, steps, requests, unknown, acknowledged, deliveries, violations, tookMs } = result;
      const verdict = violations.length === 0 ? "kept every promise" : `BROKE ${violations.length} PROMISES`;
      const seconds = Object.values(tookMs).reduce((sum, ms) => sum + ms, 0) / 1000;
      process.stdout.write(
        `seed ${seed} ${verdict}: ${steps} steps, ${requests} requests (${unknown} without an answer), ${acknowledged} accepted, ${deliveries} deliveries, ${Math.round(seconds)} s\n`,
      );
      if (violations.length > 0)
        process.stdout.write(
          `${listed(violations)}  what was done:\n${result.schedule}\n${again(seed, place, options)}`,
        );
      write({ ...result, schedule: undefined, before: place.before.length, atMs: Date.now() });
    },
    foundLater(seed, violations, place) {
      process.stdout.write(
        `seed ${seed} BROKE ${violations.length} PROMISES after ${place.after.length} seeds more (${place.after.join(", ")}):\n${listed(violations)}${again(seed, { ...place, before: [...place.before, seed, ...place.after] }, options)}`,
      );
      write({ seed, violations, after: place.after, atMs: Date.now() });
    },
    brokeOff(seed, error, place) {
      process.stdout.write(`seed ${seed} broke off: ${error.stack}\n${again(seed, place, options)}`);
      write({ seed, brokeOff: error.message, before: place.before.length, atMs: Date.now() });
    },
  };
}

function listed(violations: readonly string[]): string {
  const shown = violations.slice(0, shownViolations).map((violation) => `  - ${violation}\n`);
  const more =
    violations.length > shownViolations ? `  … and ${violations.length - shownViolations} more\n` : "";
  return shown.join("") + more;
}

/** How it is done again: alone, and with what was done in its world. */
function again(seed: number, { before, outputFolder }: Place, options: Options): string {
  const { minutes, only, senders, cells } = options;
  const settings = `--minutes ${minutes} --only ${only.join(",")} --senders ${senders}${cells === 1 ? "" : ` --cells ${cells}`}`;
  const all = before.includes(seed) ? before : [...before, seed];
  const together =
    all.length === 1
      ? ""
      : `  with those of its world: npm run faults -- --seeds ${all.join(",")} ${settings}\n`;
  return `  again: npm run faults -- --seed ${seed} ${settings}\n${together}  history and logs: ${outputFolder}\n`;
}
