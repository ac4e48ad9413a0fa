import { placeOfServer, type Server } from "../cellServers.ts";
import type pg from "pg";
import type { Steps } from "./distribute.ts";

/** Interval between two reads of the move's progress. */
const lookEveryMs = 2_000;

export interface Move {
  schema: string;
  from: Server;
  to: Server;
}

/**
 * Moves a cell to another worker while the service uses it: Citus copies its rows by logical replication, and blocks writes
 * only during the switch to the new server. Neither session is in a transaction.
 * @param watcher the session that reads the progress of the move.
 * @returns the duration of the move, in milliseconds.
 */
export async function moveCell(
  { client, watcher, steps }: { client: pg.ClientBase; watcher: pg.ClientBase; steps: Steps },
  { schema, from, to }: Move,
): Promise<number> {
  const beganMs = performance.now();
  steps.doing("removing what an earlier move left behind");
  await removeLeftovers(client);
  // A worker that was added recently lacks these tables, and Citus then refuses to move anything.
  steps.doing("copying the tables that all cells read to every server");
  await client.query("select replicate_reference_tables()");
  const what = `moving ${schema} from ${placeOfServer(from)} to ${placeOfServer(to)}`;
  steps.doing(what);
  const watching = watch(watcher, (copied) => steps.doing(`${what}: ${copied}`));
  try {
    // With 'auto', Citus refuses to move tables whose rows logical replication cannot identify; it does not block writes
    // during the whole copy.
    await client.query("select citus_schema_move($1::regnamespace, $2, $3, 'auto')", [
      schema,
      to.host,
      to.port,
    ]);
  } finally {
    await watching.end();
  }
  steps.doing(`removing ${schema} from ${placeOfServer(from)}`);
  await removeLeftovers(client);
  return performance.now() - beganMs;
}

/**
 * Removes copies from interrupted moves and the originals of finished ones. Citus' own background service also does this,
 * some time later.
 */
async function removeLeftovers(client: pg.ClientBase): Promise<void> {
  await client.query("call citus_cleanup_orphaned_resources()");
}

/** Reports how much of the moved data has arrived. */
function watch(client: pg.ClientBase, tell: (copied: string) => void): { end: () => Promise<void> } {
  let looking: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    const { rows } = await client.query<{ there: number | null; all: number | null }>(
      `select
         sum(target_shard_size)::double precision as there,
         sum(greatest(source_shard_size, target_shard_size))::double precision as all
       from get_rebalance_progress()`,
    );
    const { there, all } = rows[0]!;
    if (there !== null && all !== null) tell(`${mebibytes(there)} of ${mebibytes(all)} MiB copied`);
  };
  const timer = setInterval(() => {
    // Only progress messages depend on this query.
    looking = look().catch(() => undefined);
  }, lookEveryMs);
  return {
    async end() {
      clearInterval(timer);
      await looking;
    },
  };
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 1_048_576);
}
