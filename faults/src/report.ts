import { appendFileSync } from "node:fs";
import type { EpisodeResult, Recovery } from "./episode.ts";
import type { Options } from "./options.ts";

const shownViolations = 20;

/** World in which a seed was played. */
export interface Place {
  /** Seeds played earlier in the same world. */
  before: readonly number[];
  /** Folder of the world's histories and logs. */
  outputFolder: string;
}

/** Reports each seed on the standard output and, with `--log`, in a file of JSON lines. */
export interface Report {
  played(result: EpisodeResult, place: Place): void;
  /**
   * Reports violations in a seed's items that were found at the end of its world, after the seeds in `after` had
   * run.
   */
  foundLater(seed: number, violations: readonly string[], after: Place & { after: readonly number[] }): void;
  brokeOff(seed: number, error: Error, place: Place): void;
  /** Reports the time until items were accepted again after each kind of step, over all seeds. */
  recovered(): void;
}

export function createReport(options: Options): Report {
  const write = (line: object): void => {
    if (options.log !== undefined) appendFileSync(options.log, `${JSON.stringify(line)}\n`);
  };
  const recoveries: Recovery[] = [];
  return {
    played(result, place) {
      recoveries.push(...result.recoveries);
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
    recovered() {
      if (recoveries.length > 0)
        process.stdout.write(`until items are accepted again, in seconds:\n${tableOf(recoveries)}`);
    },
  };
}

/** One line per kind: count, median and maximum. */
function tableOf(recoveries: readonly Recovery[]): string {
  const kinds = [...Map.groupBy(recoveries, ({ kind }) => kind)].toSorted(([a], [b]) => a.localeCompare(b));
  return kinds
    .map(([kind, all]) => {
      const seconds = all.map(({ ms }) => ms / 1000).toSorted((a, b) => a - b);
      const median = seconds[Math.floor((seconds.length - 1) / 2)]!;
      return `  ${kind}: ${seconds.length} times, median ${median.toFixed(1)}, longest ${seconds.at(-1)!.toFixed(1)}\n`;
    })
    .join("");
}

function listed(violations: readonly string[]): string {
  const shown = violations.slice(0, shownViolations).map((violation) => `  - ${violation}\n`);
  const more =
    violations.length > shownViolations ? `  … and ${violations.length - shownViolations} more\n` : "";
  return shown.join("") + more;
}

/** The commands that repeat a seed: alone, and after the earlier seeds of its world. */
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
