import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import pg from "pg";
import { isSuccess } from "../exchange.ts";
import { createAttemptsTable, openAttempts } from "./attempts.ts";
import { concurrency, intakeConnections, maxAttempts, type Peer, type PeerInput, storeOf } from "./peer.ts";

/** Connections of the worker: with its local queue it needs few. */
const workConnections = 5;
const logger = new Logger(() => () => undefined);

/**
 * graphile-worker with the settings of its page on performance: a local queue of 500 jobs, and completions in
 * batches. A completed job is deleted; the records of its attempts are kept.
 */
export const graphileWorker: Peer = {
  async prepare(input) {
    await createAttemptsTable(storeOf(input));
    const pgPool = poolOf(input, 1);
    await runMigrations({ pgPool, logger, taskList: {} });
    await pgPool.end();
  },
  async openIntake(input) {
    const utils = await makeWorkerUtils({ pgPool: poolOf(input, intakeConnections), logger });
    return {
      add: (job) => utils.addJob("deliver", job, { maxAttempts }),
      addMany: (jobs) =>
        utils.addJobs(jobs.map((payload) => ({ identifier: "deliver", payload, maxAttempts }))),
    };
  },
  async work(input, deliver) {
    const attempts = openAttempts(storeOf(input));
    await run({
      preset: {
        worker: {
          concurrentJobs: concurrency,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      pgPool: poolOf(input, workConnections),
      logger,
      noHandleSignals: true,
      taskList: {
        async deliver(payload, { job }) {
          const { status, durationMs } = await deliver(job.id, payload);
          await attempts.record({ jobId: job.id, number: job.attempts, status, durationMs });
          if (!isSuccess(status)) throw new Error(`the receiver answered ${status}`);
        },
      },
    });
  },
};

function poolOf(input: PeerInput, max: number): pg.Pool {
  const pool = new pg.Pool({ ...storeOf(input), max });
  const tell = (error: Error): void => void process.stderr.write(`graphile-worker: ${error.message}\n`);
  pool.on("error", tell);
  pool.on("connect", (client) => client.on("error", tell));
  return pool;
}
