import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { startEmbedded } from "../../../server/src/postgres/embedded/startEmbedded.ts";
import { clusterFolder } from "../../../server/test/support/clusterFolder.ts";
import { programFile } from "../../../server/test/support/programFile.ts";
import type { Cost } from "./counters.ts";

/*
 * Flags that make every run allocate the same. The optimizing compilers are off: their code allocates less, and they would start
 * at a different time in each run. The young generation is large enough for all rounds of a path without a garbage collection.
 */
const flags = [
  "--no-opt",
  "--no-maglev",
  "--single-threaded",
  "--no-flush-bytecode",
  "--expose-gc",
  "--min-semi-space-size=128",
  "--max-semi-space-size=128",
];

const settings = {
  fsync: "off",
  // A full-page image is larger than the change, and whether a page needs one depends on the time of the last checkpoint.
  full_page_writes: "off",
  // Autovacuum would write to the write-ahead log, too.
  autovacuum: "off",
  checkpoint_timeout: "1h",
  max_connections: "20",
  shared_buffers: "128MB",
};

/** Time limit, in case a path hangs. */
const limitMs = 150_000;

/** Starts a new PostgreSQL and measures the cost of each path on it. */
export async function measureBudget(programs?: string): Promise<Record<string, Cost>> {
  const dataDir = await mkdtemp(join(clusterFolder(), "postrider-budget-"));
  const database = await startEmbedded({
    dataDir,
    settings,
    ...(programs !== undefined && { programs }),
    log: (level, message) => {
      if (level === "error") process.stderr.write(`${message}\n`);
    },
  });
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...flags, programFile("bench/src/budget/budgetProgram.ts"), JSON.stringify(database.connection)],
      { timeout: limitMs },
    );
    return JSON.parse(stdout) as Record<string, Cost>;
  } finally {
    await database.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
