import type { Quiet } from "../runtime/quiet.ts";
import type { Log } from "../telemetry/log.ts";
import { createSleeper, repeatUntil } from "../runtime/sleeper.ts";
import { type ClaimedReplay, claimReplay, nextDueInMs, whileLeased } from "./store.ts";
import { type BatchDeps, replayBatch, searchFor } from "./replayBatch.ts";
import { sql } from "kysely";
import { unknownId } from "../postgres/ids.ts";
import { inSnapshot } from "../events/listEvents.ts";
import type { Queries } from "../postgres/tables.ts";
import { pageFilter, withoutReplayed } from "./replayFilter.ts";

/** How often a node looks for jobs that another node stored or abandoned. */
const idleMs = 1_000;
/** The interval while this node is quiet; its own new jobs wake the worker. */
const quietIdleMs = 15_000;
/** The shortest pause, for the case that another node is claiming the due job. */
const busyMs = 20;
const failedMs = 1_000;

/**
 * Creates a worker for the jobs of all organizations, which take turns with one batch of one job each. Any number of nodes may
 * run one.
 */
export function createReplayWorker(deps: BatchDeps & { log: Log; quiet: Quiet }) {
  const stopping = new AbortController();
  const sleeper = createSleeper();
  let working: Promise<void> = Promise.resolve();
  let lastOrgId = unknownId;

  /** Claims a job and creates one batch. @returns how long to pause, in milliseconds. */
  async function work(): Promise<number> {
    const restMs = deps.quiet.isQuiet() ? quietIdleMs : idleMs;
    if (!deps.clock.mayMakeItems()) return restMs;
    try {
      const job = await claimReplay(deps.queries, lastOrgId);
      if (job === undefined) {
        const dueInMs = (await nextDueInMs(deps.queries)) ?? restMs;
        return Math.min(Math.max(dueInMs, busyMs), restMs);
      }
      deps.quiet.note();
      lastOrgId = job.orgId;
      const outcome = await whileLeased(deps.queries, job, () => replayBatch(deps, job));
      if (outcome === "advanced" && job.total === null) await countRest(deps, job);
      if (outcome === "finished") deps.log.info({ replay_id: job.id, org_id: job.orgId }, "a replay is done");
      return 0;
    } catch (error) {
      deps.log.warn({ err: error }, "a batch of a replay failed; it is tried again");
      return failedMs;
    }
  }

  return {
    start(): void {
      working = repeatUntil(stopping.signal, sleeper, work);
    },
    /** Called when there may be a new job. */
    wake: (): void => sleeper.wake(),
    async stop(): Promise<void> {
      stopping.abort();
      sleeper.wake();
      await working;
    },
  };
}

/** Number of events to count between two batches. */
const perStep = 5_000;

/**
 * Counts the next part of a set that was too large to count while its owner waited. The update succeeds only from the position
 * that was read, so that of two nodes that count the same part only one is counted.
 */
async function countRest(
  deps: Pick<BatchDeps, "config" | "queries" | "searchMs">,
  job: ClaimedReplay,
): Promise<void> {
  const { rows } = await sql<{ targetId: string; countedTo: string }>`
    select p.target_id as "targetId", p.counted_to as "countedTo"
    from replay_parts p
    where p.replay_id = ${job.id}
      and not p.is_counted
    order by p.target_id
    limit 1
  `.execute(deps.queries);
  const part = rows[0];
  if (part === undefined) return noteTotal(deps.queries, job.id);
  const scope = { orgId: job.orgId, mailboxRetentionMs: deps.config.mailboxRetentionMs };
  const span = { after: part.countedTo, until: job.until, limit: perStep };
  const page = pageFilter({ filter: job.filter, targetId: part.targetId, scope }, span);
  const { ids, reachedId, counted } = await inSnapshot(deps.queries, async (snapshot) => {
    const found = await searchFor(deps, snapshot, page);
    return { ...found, counted: (await withoutReplayed(snapshot, job, scope, found.ids)).length };
  });
  await sql`
    update replay_parts
    set counted = counted + ${counted},
      counted_to = ${reachedId ?? ids.at(-1) ?? part.countedTo},
      is_counted = ${reachedId === undefined && ids.length < perStep}
    where replay_id = ${job.id}
      and target_id = ${part.targetId}
      and counted_to = ${part.countedTo}
  `.execute(deps.queries);
}

async function noteTotal(queries: Queries, id: string): Promise<void> {
  await sql`
    update replays r
    set total = (select sum(p.counted) from replay_parts p where p.replay_id = r.id)
    where r.id = ${id}
      and r.status = 'RUNNING'
      and r.total is null
  `.execute(queries);
}
