import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { startEmbedded } from "../../../server/src/postgres/embedded/startEmbedded.ts";
import { clusterFolder } from "../../../server/test/support/clusterFolder.ts";
import { programFile } from "../../../server/test/support/programFile.ts";
import type { Cost } from "./counters.ts";

/*
 * Every run allocates the same: nothing is compiled to code that allocates less, which would happen at a moment of its own in each
 * run, and new objects have room enough for a path's rounds without a collection.
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
  // Whether a page was written since the last checkpoint depends on the time, and its image is larger than its changes.
  full_page_writes: "off",
  // Nothing else writes to the log.
  autovacuum: "off",
  checkpoint_timeout: "1h",
  max_connections: "20",
  shared_buffers: "128MB",
};

/** For a path that hangs. */
const limitMs = 150_000;

/** Measures the cost of each path on a PostgreSQL of its own. */
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
