import type pg from "pg";
import type { Changes } from "../../items/changes.ts";
import { bucketOf } from "../../postgres/ids.ts";
import type { Log } from "../../telemetry/log.ts";

/** Records which circuits this node has opened, so that other nodes can see them. */
export interface OpenCircuits {
  /** Records that no request is sent to the target for `forMs`; then one request probes it (half-open). */
  opened(targetId: string, forMs: number): void;
  /** Records that the target answers again. */
  closed(targetId: string): void;
  /** Deletes this node's circuits, because it stops sending. */
  stop(): Promise<void>;
}

/** How long changes are collected before they are written. A circuit opens and closes at most once a second. */
const gatherMs = 100;

export interface OpenCircuitsDeps {
  pool: pg.Pool;
  log: Log;
  /** Notified of a target after the change of its circuit was stored. */
  changes: Changes;
  /** Id of this process. */
  nodeId: string;
}

/**
 * Stores changes in the background, only the last state of each target. A change that could not be stored is stored with the
 * next one. Nothing waits for it, and deliveries do not depend on it.
 */
export function createOpenCircuits({ pool, log, changes, nodeId }: OpenCircuitsDeps): OpenCircuits {
  /** By target: the end of the open period on the monotonic clock, or null if the circuit is closed. */
  const changed = new Map<string, number | null>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  function note(targetId: string, untilMs: number | null): void {
    changed.set(targetId, untilMs);
    timer ??= setTimeout(() => {
      timer = undefined;
      writing = writing.then(write);
    }, gatherMs);
  }

  async function write(): Promise<void> {
    const now = [...changed];
    changed.clear();
    const nowMs = performance.now();
    try {
      await writeCircuits(pool, nodeId, {
        open: now.flatMap(([targetId, untilMs]) =>
          untilMs === null ? [] : [{ targetId, forMs: Math.max(0, Math.ceil(untilMs - nowMs)) }],
        ),
        closed: now.flatMap(([targetId, untilMs]) => (untilMs === null ? [targetId] : [])),
      });
      if (changes.isWatched()) {
        for (const [id] of now) changes.publish(id, { type: "target", data: { id } });
      }
    } catch (error) {
      log.warn({ err: error }, "open circuits could not be stored");
      for (const [targetId, untilMs] of now) if (!changed.has(targetId)) changed.set(targetId, untilMs);
    }
  }

  return {
    opened: (targetId, forMs) => note(targetId, performance.now() + forMs),
    closed: (targetId) => note(targetId, null),
    async stop() {
      clearTimeout(timer);
      await writing;
      await pool
        .query("delete from open_circuits where node_id = $1", [nodeId])
        .catch((error: unknown) => log.warn({ err: error }, "open circuits could not be deleted"));
    },
  };
}

interface Changed {
  open: { targetId: string; forMs: number }[];
  closed: string[];
}

async function writeCircuits(pool: pg.Pool, nodeId: string, { open, closed }: Changed): Promise<void> {
  if (closed.length > 0) {
    await pool.query({
      name: "remove_open_circuits",
      text: `delete from open_circuits c
             using unnest($2::smallint[], $3::uuid[]) as i (bucket, target_id)
             where c.bucket = i.bucket
               and c.target_id = i.target_id
               and c.node_id = $1`,
      values: [nodeId, closed.map(bucketOf), closed],
    });
  }
  if (open.length === 0) return;
  await pool.query({
    name: "write_open_circuits",
    text: `insert into open_circuits (bucket, target_id, node_id, open_until)
           select i.bucket, i.target_id, $1, (extract(epoch from clock_timestamp()) * 1000)::bigint + i.for_ms
           from unnest($2::smallint[], $3::uuid[], $4::bigint[]) as i (bucket, target_id, for_ms)
           on conflict (bucket, target_id, node_id) do update
           set open_until = excluded.open_until`,
    values: [
      nodeId,
      open.map(({ targetId }) => bucketOf(targetId)),
      open.map(({ targetId }) => targetId),
      open.map(({ forMs }) => forMs),
    ],
  });
}

/** A circuit whose open period ended this long ago counts as closed, because its node has died or removed the lane. */
export const circuitMemoryMs = 60_000;

/** Removes circuits of nodes that died. @returns the number of removed circuits. */
export async function sweepCircuits(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query({
    name: "sweep_open_circuits",
    text: `delete from open_circuits
           where open_until < (extract(epoch from statement_timestamp()) * 1000)::bigint - $1`,
    values: [circuitMemoryMs],
  });
  return rowCount ?? 0;
}
