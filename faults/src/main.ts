import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setup as bundlePrograms } from "../../server/test/support/bundlePrograms.ts";
import { programFile } from "../../server/test/support/programFile.ts";
import { stepsOf } from "./episode.ts";
import { help, type Options, readOptions } from "./options.ts";
import { planWorlds } from "./planWorlds.ts";
import { createReport, type Report } from "./report.ts";
import { type EpisodeSettings, run } from "./run.ts";
import { openSession, type Session } from "./session.ts";

// Processes of the service reuse code that earlier processes compiled.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "../../node_modules/.cache/compiled");

/** Default average interval between steps, and longest duration of a step's fault, milliseconds. */
const pace = { gapMs: 1_500, harmMs: 16_000 };
/** A shorter run shortens every interval and duration in proportion. */
const usualMinutes = 1;
const consumers = 3;

const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    process.stderr.write(`\n${signal}: ending what was started\n`);
    stopping.abort();
  });

process.exitCode = await main();
// Work that a run leaves unfinished, such as a slow start, must not keep the supervisor alive.
// oxlint-disable-next-line unicorn/no-process-exit -- end of a command-line program
process.exit();

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), Date.now(), process.env);
  if (options.isHelpAsked) {
    process.stdout.write(help);
    return 0;
  }
  if (options.citusUrl === undefined)
    process.stderr.write("on one PostgreSQL; with TEST_CITUS_URL it would be a Citus cluster\n");
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "postrider-faults-"));
  mkdirSync(folder, { recursive: true });
  // A bundle starts faster: most of a start is reading and compiling sources, and each seed has several starts.
  const removePrograms = await bundlePrograms();
  const session = await openSession({
    current: programFile("server/src/process/cli.ts"),
    cells: options.cells,
    citusUrl: options.citusUrl,
  });
  try {
    const { runs, failed } = await runAll(options, session, resolve(folder));
    process.stdout.write(
      `${runs} runs, ${failed.length} failed${failed.length === 0 ? "" : ` (seeds ${failed.join(", ")})`}\n`,
    );
    if (failed.length === 0 && options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    return failed.length === 0 && !stopping.signal.aborted ? 0 : 1;
  } finally {
    session.close();
    await removePrograms();
  }
}

/** State that all worlds of a campaign share. */
interface Campaign {
  session: Session;
  folder: string;
  settings: EpisodeSettings;
  report: Report;
  isOver: () => boolean;
  runs: number;
  /** Seeds that violated a promise or aborted with an error. */
  failed: Set<number>;
}

async function runAll(
  options: Options,
  session: Session,
  folder: string,
): Promise<{ runs: number; failed: number[] }> {
  const endsAtMs = performance.now() + (options.soakMinutes ?? Infinity) * 60_000;
  const settings = settingsOf(options);
  const campaign: Campaign = {
    session,
    folder,
    settings,
    report: createReport(options),
    isOver: () => performance.now() > endsAtMs || stopping.signal.aborted,
    runs: 0,
    failed: new Set(),
  };
  // The previous version does not start on a database with publications, so worlds with upgrades have none.
  const isUpgraded = (seed: number): boolean =>
    stepsOf({ ...settings, seed }).some(({ group }) => group === "upgrade");
  const nextSeeds = planWorlds(
    options.seeds[Symbol.iterator](),
    options.perWorld,
    options.isOneWorld ? () => "any" : isUpgraded,
  );
  const playOn = async (): Promise<void> => {
    for (let seeds = nextSeeds(); seeds !== undefined && !campaign.isOver(); seeds = nextSeeds())
      for (let rest = seeds; rest.length > 0 && !campaign.isOver();)
        rest = rest.slice(await playWorld(rest, campaign));
  };
  await Promise.all(Array.from({ length: options.worlds }, playOn));
  campaign.report.recovered();
  return { runs: campaign.runs, failed: [...campaign.failed].toSorted((a, b) => a - b) };
}

function settingsOf({ minutes, only, senders, citusUrl }: Options): EpisodeSettings {
  const scale = Math.min(1, minutes / usualMinutes);
  return {
    only,
    senders,
    consumers,
    isOnCitus: citusUrl !== undefined,
    durationMs: minutes * 60_000,
    meanGapMs: Math.max(500, pace.gapMs * scale),
    harmMs: Math.max(2_000, pace.harmMs * scale),
    signal: stopping.signal,
  };
}

/** Plays these seeds in one world until one fails or the time is over. @returns the number of seeds played. */
async function playWorld(seeds: readonly number[], campaign: Campaign): Promise<number> {
  const { session, folder, settings, report, failed } = campaign;
  const outputFolder = join(folder, `world-${seeds[0]}`);
  const dataFolder = session.newDataFolder(`world-${seeds[0]}`);
  const place = (count: number) => ({ before: seeds.slice(0, count), outputFolder });
  let played = 0;
  try {
    const { later } = await run({
      ...settings,
      seeds,
      session,
      dataFolder,
      outputFolder,
      say: (seed, line) => process.stderr.write(`seed ${seed}: ${line}\n`),
      onResult(result) {
        report.played(result, place(played));
        if (result.violations.length > 0) failed.add(result.seed);
        played++;
        return !campaign.isOver();
      },
    });
    for (const [seed, violations] of later) {
      const index = seeds.indexOf(seed);
      failed.add(seed);
      report.foundLater(seed, violations, { ...place(index), after: seeds.slice(index + 1, played) });
    }
  } catch (error) {
    if (!stopping.signal.aborted) {
      // After the last seed, the final comparison or the end of the world may still fail.
      const index = Math.min(played, seeds.length - 1);
      failed.add(seeds[index]!);
      report.brokeOff(seeds[index]!, error as Error, place(index));
      played = index + 1;
    }
  } finally {
    campaign.runs += played;
    rmSync(dataFolder, { recursive: true, force: true });
  }
  if (!seeds.slice(0, played).some((seed) => failed.has(seed)))
    rmSync(outputFolder, { recursive: true, force: true });
  return played;
}
