import type pg from "pg";
import type { Log } from "../telemetry/log.ts";
import type { Cells } from "./cells.ts";
import { hasDistributedCells } from "./ensureCells.ts";
import { type Placement, readPlacements } from "./cellServers.ts";

export interface FollowDeps {
  /** The control plane's. */
  pool: pg.Pool;
  cells: Cells;
  log: Pick<Log, "info" | "warn">;
}

/** How long a moved cell is still asked at its former server, which forwards. */
const everyMs = 1_000;

/**
 * Keeps the routes of cells at the servers where Citus has them: looks once a second, beginning with the first call of `look`. While
 * the coordinator is away the last placement counts. Looks once only where no cell is on a server of its own, since no service runs
 * while cells are distributed.
 */
export function followCells({ pool, cells, log }: FollowDeps) {
  const routed = cells.all().filter(({ route }) => route !== undefined);
  let known: ReadonlyMap<string, Placement> | undefined;
  let isEnded = routed.length === 0;
  let isAway = false;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;

  async function read(): Promise<void> {
    try {
      if (known === undefined && !(await hasDistributedCells(pool))) isEnded = true;
      else known = await readPlacements(pool);
      isAway = false;
    } catch (error) {
      if (!isAway) log.warn({ err: error }, "could not ask where the cells are; it is tried again");
      isAway = true;
    }
  }

  async function look(): Promise<void> {
    clearTimeout(timer);
    await read();
    await Promise.all(
      routed.map(async ({ schema, route }) => {
        const placement = known?.get(schema!);
        if (placement !== undefined) await route!.follow(placement, log);
      }),
    );
    looking = undefined;
    if (!isEnded) timer = setTimeout(() => void lookOnce(), everyMs).unref();
  }

  /** Asks Citus now. Concurrent calls share one look. Never rejects. */
  function lookOnce(): Promise<void> {
    if (isEnded) return Promise.resolve();
    return (looking ??= look());
  }

  return {
    look: lookOnce,
    async stop(): Promise<void> {
      isEnded = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
