import type pg from "pg";
import type { Steps } from "./distribute.ts";
import { placeOfServer, type Server } from "./workers.ts";

/** Between two looks at how far a move is. */
const lookEveryMs = 2_000;

export interface Move {
  schema: string;
  from: Server;
  to: Server;
}

/**
 * Moves a cell to another worker while the service works with it: Citus copies its rows by logical replication, and lets changes wait only
 * while it switches over. Neither session is in a transaction.
 * @param watcher looks meanwhile how far it is.
 * @returns how long it took, in milliseconds.
 */
export async function moveCell(
  { client, watcher, steps }: { client: pg.ClientBase; watcher: pg.ClientBase; steps: Steps },
  { schema, from, to }: Move,
): Promise<number> {
  const beganMs = performance.now();
  steps.doing("removing what an earlier move left behind");
  await removeLeftovers(client);
  // A worker that was just added lacks them, and Citus then refuses to move anything.
  steps.doing("copying the tables that all cells read to every server");
  await client.query("select replicate_reference_tables()");
  const what = `moving ${schema} from ${placeOfServer(from)} to ${placeOfServer(to)}`;
  steps.doing(what);
  const watching = watch(watcher, (copied) => steps.doing(`${what}: ${copied}`));
  try {
    // Refused where rows cannot be told apart, in place of holding up those who write for the whole copy.
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

/** Citus' own service does so, too, some time later: copies of a move that was broken off, and the originals of one that was not. */
async function removeLeftovers(client: pg.ClientBase): Promise<void> {
  await client.query("call citus_cleanup_orphaned_resources()");
}

/** Tells how much of what is being moved has arrived. */
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
    // Nobody depends on it.
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
