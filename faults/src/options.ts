import { parseArgs } from "node:util";
import { type Group, groups } from "./actions/action.ts";

export interface Options {
  seed: number;
  runs: number;
  minutes: number;
  /** Runs with consecutive seeds until so many minutes are over, instead of a number of runs. */
  soakMinutes: number | undefined;
  only: readonly Group[];
  senders: number;
  /** Where histories and logs are kept; a temporary folder unless named. */
  folder: string | undefined;
  isHelpAsked: boolean;
}

export const help = `npm run faults -- [options]

  --seed N         the first run's seed; the time unless given
  --runs N         runs with consecutive seeds (1)
  --minutes M      for how long each run does harm (2); healing takes some seconds more
  --soak M         runs with consecutive seeds until M minutes are over
  --only a,b       nothing but these: ${groups.join(", ")}
  --senders N      senders of items (5)
  --folder PATH    where histories and logs are kept (a folder of the system's temporary one)
`;

/** @throws Error in words for whoever typed it. */
export function readOptions(args: readonly string[], nowMs: number): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      runs: { type: "string", default: "1" },
      minutes: { type: "string", default: "2" },
      soak: { type: "string" },
      only: { type: "string", default: groups.join(",") },
      senders: { type: "string", default: "5" },
      folder: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const only = values.only.split(",");
  const unknown = only.find((name) => !(groups as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new Error(`--only: there is no "${unknown}"; choose from ${groups.join(", ")}`);
  return {
    seed: wholeNumber("--seed", values.seed ?? String(Math.floor(nowMs / 1000)), 0, 2 ** 32 - 1),
    runs: wholeNumber("--runs", values.runs, 1, 100_000),
    minutes: minutesOf("--minutes", values.minutes),
    soakMinutes: values.soak === undefined ? undefined : minutesOf("--soak", values.soak),
    only: only as Group[],
    senders: wholeNumber("--senders", values.senders, 1, 100),
    folder: values.folder,
    isHelpAsked: values.help,
  };
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value) || value < least || value > most)
    throw new Error(`${name} is a whole number from ${least} to ${most}, not "${text}"`);
  return value;
}

function minutesOf(name: string, text: string): number {
  const value = Number(text);
  if (!(value >= 0.05 && value <= 10_000))
    throw new Error(`${name} is a number of minutes from 0.05 to 10000, not "${text}"`);
  return value;
}
