import type { Quiet } from "../runtime/quiet.ts";
import type { Log } from "../telemetry/log.ts";
import { createSleeper, repeatUntil } from "../runtime/sleeper.ts";
import { claimReplay, nextDueInMs } from "./claimReplay.ts";
import { countRest } from "./countRest.ts";
import { type BatchDeps, replayBatch } from "./replayBatch.ts";

/** Works on the jobs of all organizations, a batch of one at a time; any number of nodes may have one. */
export interface ReplayWorker {
  start(): void;
  /** There may be a new job. */
  wake(): void;
  stop(): Promise<void>;
}

/** How often a node looks for jobs that another one took in, or left behind. */
const idleMs = 1_000;
/** The same while this node is quiet; its own jobs wake the worker. */
const quietIdleMs = 15_000;
/** Another node is taking the job that is due. */
const busyMs = 20;
const failedMs = 1_000;

export function createReplayWorker(deps: BatchDeps & { log: Log; quiet: Quiet }): ReplayWorker {
  const stopping = new AbortController();
  const sleeper = createSleeper();
  let working: Promise<void> = Promise.resolve();

  /** @returns how long to pause, in milliseconds. */
  async function work(): Promise<number> {
    const restMs = deps.quiet.isQuiet() ? quietIdleMs : idleMs;
    if (!deps.clock.mayMakeItems()) return restMs;
    try {
      const job = await claimReplay(deps.queries);
      if (job === undefined) {
        const dueInMs = (await nextDueInMs(deps.queries)) ?? restMs;
        return Math.min(Math.max(dueInMs, busyMs), restMs);
      }
      deps.quiet.note();
      const outcome = await replayBatch(deps, job);
      if (outcome === "advanced" && job.total === null) await countRest(deps, job);
      if (outcome === "finished") deps.log.info({ replay_id: job.id, org_id: job.orgId }, "a replay is done");
      return 0;
    } catch (error) {
      deps.log.warn({ err: error }, "a batch of a replay failed; it is tried again");
      return failedMs;
    }
  }

  return {
    start() {
      working = repeatUntil(stopping.signal, sleeper, work);
    },
    wake: () => sleeper.wake(),
    async stop() {
      stopping.abort();
      sleeper.wake();
      await working;
    },
  };
}
