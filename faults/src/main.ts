import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { root } from "../../server/test/support/programFile.ts";
import { help, type Options, readOptions } from "./options.ts";
import { run, type RunResult } from "./run.ts";
import { openSession, type Session } from "./session.ts";

/** Steps come this often on average, and none lasts longer than that. */
const pace = { gapMs: 1_500, harmMs: 16_000 };
/** In a run that is shorter than this everything is shorter. */
const usualMinutes = 1;
const consumers = 3;
const shownViolations = 20;

const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    process.stderr.write(`\n${signal}: ending what was started\n`);
    stopping.abort();
  });

process.exitCode = await main();
// Nothing that a run leaves under way, such as a slow start, keeps the supervisor.
// oxlint-disable-next-line unicorn/no-process-exit -- it is a program, and this is its end
process.exit();

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), Date.now());
  if (options.isHelpAsked) {
    process.stdout.write(help);
    return 0;
  }
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "postrider-faults-"));
  mkdirSync(folder, { recursive: true });
  const session = await openSession(join(root, "server/bin/postrider.cjs"));
  try {
    const { runs, failed } = await runAll(options, session, resolve(folder));
    process.stdout.write(
      `${runs} runs, ${failed.length} failed${failed.length === 0 ? "" : ` (seeds ${failed.join(", ")})`}\n`,
    );
    if (failed.length === 0 && options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    return failed.length === 0 && !stopping.signal.aborted ? 0 : 1;
  } finally {
    session.close();
  }
}

async function runAll(
  options: Options,
  session: Session,
  folder: string,
): Promise<{ runs: number; failed: number[] }> {
  const endsAtMs = performance.now() + (options.soakMinutes ?? Infinity) * 60_000;
  const count = options.soakMinutes === undefined ? options.runs : Infinity;
  const failed: number[] = [];
  let runs = 0;
  while (runs < count && performance.now() < endsAtMs && !stopping.signal.aborted) {
    const seed = options.seed + runs;
    runs++;
    if (!(await runOne(seed, options, session, join(folder, `seed-${seed}`)))) failed.push(seed);
  }
  return { runs, failed };
}

/** @returns whether all promises were kept. */
async function runOne(
  seed: number,
  { minutes, only, senders }: Options,
  session: Session,
  outputFolder: string,
): Promise<boolean> {
  const scale = Math.min(1, minutes / usualMinutes);
  const dataFolder = session.newDataFolder(`seed-${seed}`);
  const begunAtMs = performance.now();
  try {
    const result = await run({
      ...session,
      seed,
      only,
      senders,
      consumers,
      dataFolder,
      outputFolder,
      durationMs: minutes * 60_000,
      meanGapMs: Math.max(500, pace.gapMs * scale),
      harmMs: Math.max(2_000, pace.harmMs * scale),
      signal: stopping.signal,
      say: (line) => process.stderr.write(`seed ${seed}: ${line}\n`),
    });
    tell(result, performance.now() - begunAtMs);
    if (result.violations.length === 0) rmSync(outputFolder, { recursive: true, force: true });
    else explain(result, { minutes, only, outputFolder });
    return result.violations.length === 0;
  } catch (error) {
    if (stopping.signal.aborted) return true;
    process.stdout.write(`seed ${seed} broke off: ${(error as Error).stack}\n  ${outputFolder}\n`);
    return false;
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

function tell(result: RunResult, tookMs: number): void {
  const { seed, steps, requests, unknown, acknowledged, deliveries, violations } = result;
  const verdict = violations.length === 0 ? "kept every promise" : `BROKE ${violations.length} PROMISES`;
  process.stdout.write(
    `seed ${seed} ${verdict}: ${steps} steps, ${requests} requests (${unknown} without an answer), ${acknowledged} accepted, ${deliveries} deliveries, ${Math.round(tookMs / 1000)} s\n`,
  );
}

function explain(
  { seed, schedule, violations }: RunResult,
  { minutes, only, outputFolder }: Pick<Options, "minutes" | "only"> & { outputFolder: string },
): void {
  const shown = violations.slice(0, shownViolations).map((violation) => `  - ${violation}\n`);
  const more =
    violations.length > shownViolations ? `  … and ${violations.length - shownViolations} more\n` : "";
  process.stdout.write(
    `${shown.join("")}${more}  what was done:\n${schedule}\n  again: npm run faults -- --seed ${seed} --minutes ${minutes} --only ${only.join(",")}\n  history and logs: ${outputFolder}\n`,
  );
}
