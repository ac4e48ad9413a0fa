import { type ConstructorOptions, type JobResult, type JobWithMetadata, PgBoss } from "pg-boss";
import { isSuccess } from "../exchange.ts";
import { createAttemptsTable, openAttempts } from "./attempts.ts";
import {
  concurrency,
  type DeliverJob,
  intakeConnections,
  maxAttempts,
  type Peer,
  type PeerInput,
  storeOf,
} from "./peer.ts";

const queue = "deliver";
/** Several workers, so that deliveries are in flight while another batch is written. */
const workers = 4;

/**
 * pg-boss that completes the jobs of a batch one by one, is woken by NOTIFY, and fetches without a pause while batches are full.
 * Completed jobs are kept for seven days, its default.
 */
export const pgBoss: Peer = {
  async prepare(input) {
    await createAttemptsTable(storeOf(input));
    const boss = await open(input, { max: 2 });
    await boss.createQueue(queue, { notify: true, retryLimit: maxAttempts - 1, retryBackoff: true });
    await boss.stop();
  },
  async openIntake(input) {
    const boss = await open(input, { max: intakeConnections, supervise: false, schedule: false });
    return {
      add: (job) => boss.send(queue, job),
      addMany: (jobs) =>
        boss.insert(
          queue,
          jobs.map((data) => ({ data })),
        ),
    };
  },
  async work(input, deliver) {
    const boss = await open(input, { max: workers + 1, useListenNotify: true });
    const attempts = openAttempts(storeOf(input));
    await boss.work(
      queue,
      {
        batchSize: concurrency,
        localConcurrency: workers,
        perJobResults: true,
        includeMetadata: true,
        burstWhenBatchFull: true,
        pollingIntervalSeconds: 0.5,
        notifyPollingIntervalSeconds: 0.5,
      },
      (jobs: JobWithMetadata[]) => Promise.all(jobs.map((job) => settle(job, deliver, attempts))),
    );
  },
};

async function settle(
  job: JobWithMetadata,
  deliver: DeliverJob,
  attempts: ReturnType<typeof openAttempts>,
): Promise<JobResult> {
  const { status, durationMs } = await deliver(job.id, job.data);
  await attempts.record({ jobId: job.id, number: job.retryCount + 1, status, durationMs });
  return { id: job.id, status: isSuccess(status) ? "completed" : "failed" };
}

async function open(input: PeerInput, options: ConstructorOptions): Promise<PgBoss> {
  const boss = new PgBoss({ ...(storeOf(input) as ConstructorOptions), ...options });
  boss.on("error", (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
  await boss.start();
  return boss;
}
