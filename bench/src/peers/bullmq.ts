import { Queue, Worker } from "bullmq";
import { isSuccess } from "../exchange.ts";
import { concurrency, maxAttempts, type Peer, type PeerInput } from "./peer.ts";

const queueName = "deliver";

/**
 * BullMQ with the settings of its guide for production. Completed jobs are kept and are its record of attempts: a job's return
 * value describes the successful attempt, its stack traces the failed ones.
 */
export const bullmq: Peer = {
  prepare: () => Promise.resolve(),
  async openIntake(input) {
    const queue = new Queue(queueName, {
      connection: { path: socketOf(input) },
      defaultJobOptions: { attempts: maxAttempts, backoff: { type: "exponential", delay: 1_000 } },
    });
    await queue.waitUntilReady();
    return {
      add: (job) => queue.add("webhook", job),
      addMany: (jobs) => queue.addBulk(jobs.map((data) => ({ name: "webhook", data }))),
    };
  },
  async work(input, deliver) {
    const worker = new Worker<object>(
      queueName,
      async (job) => {
        const { status, durationMs } = await deliver(job.id!, job.data);
        if (!isSuccess(status)) throw new Error(`the receiver answered ${status}`);
        return { status, durationMs };
      },
      { connection: { path: socketOf(input), maxRetriesPerRequest: null }, concurrency },
    );
    await worker.waitUntilReady();
  },
};

function socketOf({ store }: PeerInput): string {
  return (store as { redisSocket: string }).redisSocket;
}
