import type pg from "pg";
import { singleFlight } from "../runtime/within.ts";
import type { Log } from "../telemetry/log.ts";
import type { Cells } from "./cells.ts";
import { hasDistributedCells } from "./ensureCells.ts";
import { type Placement, readPlacements } from "./cellServers.ts";

export interface FollowDeps {
  /** The control plane's pool. */
  pool: pg.Pool;
  cells: Cells;
  log: Pick<Log, "info" | "warn">;
}

/**
 * Interval between two reads of the placements. Until the next read, a moved cell is still queried at its former server,
 * which forwards.
 */
export const followEveryMs = 1_000;

/**
 * Keeps the cells' routes at the servers on which Citus has placed the cells: reads the placements once a second, beginning
 * with the first call of `look`. While the coordinator cannot be reached, the last placement is used. Reads only once when no
 * cell is distributed, because no service runs while cells are being distributed.
 */
export function followCells({ pool, cells, log }: FollowDeps) {
  const routed = cells.all().filter(({ route }) => route !== undefined);
  let known: ReadonlyMap<string, Placement> | undefined;
  let isEnded = routed.length === 0;
  let timer: NodeJS.Timeout | undefined;

  async function read(): Promise<void> {
    try {
      if (known === undefined && !(await hasDistributedCells(pool))) isEnded = true;
      else known = await readPlacements(pool);
    } catch (error) {
      log.warn({ err: error }, "could not read from Citus where the cells are; trying again");
    }
  }

  const look = singleFlight(async () => {
    if (isEnded) return;
    clearTimeout(timer);
    await read();
    await Promise.all(
      routed.map(async ({ schema, route }) => {
        const placement = known?.get(schema!);
        if (placement !== undefined) await route!.follow(placement, log);
      }),
    );
    if (!isEnded) timer = setTimeout(() => void look(), followEveryMs).unref();
  });

  return {
    /** Reads the placements from Citus now. Concurrent calls share one read. Never rejects. */
    look,
    async stop(): Promise<void> {
      isEnded = true;
      clearTimeout(timer);
      await look();
    },
  };
}
