import { parseArgs } from "node:util";
import { type Group, groups } from "./actions/action.ts";

export interface Options {
  /** Seeds to play, in this order; endless with `--soak`. */
  seeds: Iterable<number>;
  minutes: number;
  /** How long new seeds are begun, minutes; undefined to play all seeds. */
  soakMinutes: number | undefined;
  /** Number of seeds that share one world, one after another. */
  perWorld: number;
  /** Number of worlds that run side by side. */
  worlds: number;
  /** Whether all seeds share one world, whatever their actions: true when the seeds were named. */
  isOneWorld: boolean;
  only: readonly Group[];
  senders: number;
  cells: number;
  /** URL of a server with Citus, whose programs run the databases; undefined for plain PostgreSQL. */
  citusUrl: string | undefined;
  /** Folder for histories and logs; undefined for a temporary folder. */
  folder: string | undefined;
  /** File to which a line of JSON is appended for each seed. */
  log: string | undefined;
  isHelpAsked: boolean;
}

export const help = `npm run faults -- [options]

  --seed N         seed of the first run; default: the time
  --runs N         runs with consecutive seeds (1)
  --minutes M      minutes of faults in each run (2); recovery takes some seconds more
  --soak M         runs with consecutive seeds until M minutes are over
  --episodes N     seeds that share a world, one after another (1)
  --worlds N       worlds that run at the same time (1)
  --seeds a,b,c    these seeds in one world, in this order
  --only a,b       only these actions: ${groups.join(", ")}
  --senders N      number of senders of items (5)
  --cells N        number of cells of the data plane (1; 2 with Citus); with several cells there is no upgrade
  --folder PATH    folder for histories and logs (default: a temporary folder)
  --log FILE       file to which one line of JSON is written for each seed

TEST_CITUS_URL     URL of a superuser on a local server with Citus. The run starts a coordinator and two workers of its own
                   with that server's programs, and leaves that server alone.
`;

const mostSeed = 2 ** 32 - 1;

/** @throws {Error} whose message tells the user what is wrong with the arguments. */
export function readOptions(
  args: readonly string[],
  nowMs: number,
  { TEST_CITUS_URL: citusUrl = "" }: NodeJS.ProcessEnv = {},
): Options {
  const isOnCitus = citusUrl !== "";
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      seeds: { type: "string" },
      runs: { type: "string", default: "1" },
      minutes: { type: "string", default: "2" },
      soak: { type: "string" },
      episodes: { type: "string", default: "1" },
      worlds: { type: "string", default: "1" },
      only: { type: "string", default: groups.join(",") },
      senders: { type: "string", default: "5" },
      cells: { type: "string", default: isOnCitus ? "2" : "1" },
      folder: { type: "string" },
      log: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const named = values.seeds?.split(",").map((text) => wholeNumber("--seeds", text, 0, mostSeed));
  const first = wholeNumber("--seed", values.seed ?? String(Math.floor(nowMs / 1000)), 0, mostSeed);
  const runs = wholeNumber("--runs", values.runs, 1, 100_000);
  const cells = cellsOf(values.cells);
  if (isOnCitus && cells === 1) throw new Error("--cells is at least 2 with Citus");
  return {
    seeds: named ?? consecutive(first, values.soak === undefined ? runs : Infinity),
    minutes: minutesOf("--minutes", values.minutes),
    soakMinutes: values.soak === undefined ? undefined : minutesOf("--soak", values.soak),
    perWorld: named?.length ?? wholeNumber("--episodes", values.episodes, 1, 1_000),
    worlds: wholeNumber("--worlds", values.worlds, 1, 32),
    isOneWorld: named !== undefined,
    only: groupsOf(values.only).filter((group) => isPossible(group, { cells, isOnCitus })),
    senders: wholeNumber("--senders", values.senders, 1, 100),
    cells,
    citusUrl: isOnCitus ? citusUrl : undefined,
    folder: values.folder,
    log: values.log,
    isHelpAsked: values.help,
  };
}

/**
 * The previous version does not start on a database with cells. With Citus no disk is filled; cells move only with
 * Citus.
 */
function isPossible(group: Group, { cells, isOnCitus }: { cells: number; isOnCitus: boolean }): boolean {
  if (group === "upgrade") return cells === 1;
  return isOnCitus ? group !== "disk" : group !== "move";
}

function* consecutive(first: number, count: number): Generator<number> {
  for (let n = 0; n < count; n++) yield first + n;
}

function groupsOf(text: string): Group[] {
  const names = text.split(",");
  const unknown = names.find((name) => !(groups as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new Error(`--only: there is no "${unknown}"; choose from ${groups.join(", ")}`);
  return names as Group[];
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value) || value < least || value > most)
    throw new Error(`${name} is a whole number from ${least} to ${most}, not "${text}"`);
  return value;
}

function cellsOf(text: string): number {
  if (!/^(1|2|4|8|16)$/.test(text)) throw new Error(`--cells is 1, 2, 4, 8 or 16, not "${text}"`);
  return Number(text);
}

function minutesOf(name: string, text: string): number {
  const value = Number(text);
  if (!(value >= 0.05 && value <= 10_000))
    throw new Error(`${name} is a number of minutes from 0.05 to 10000, not "${text}"`);
  return value;
}
