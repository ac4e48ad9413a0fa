import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { openSession } from "../../../backup/takeSnapshot.ts";
import type { Config } from "../../../config/config.ts";
import { readDistribution } from "../../../postgres/distribution.ts";
import { presentCells } from "../../../postgres/ensureCells.ts";
import { followEveryMs } from "../../../postgres/followCells.ts";
import { functionSchemaPattern } from "../../../postgres/functionSchema.ts";
import { placeOfServer, type Server } from "../../../postgres/cellServers.ts";
import {
  emptiestWorker,
  isSameServer,
  type PlacedCell,
  placedCells,
  readWorkers,
  setTakesCells,
} from "../../../postgres/placement/workers.ts";
import { atServer } from "../../../postgres/pool.ts";
import { CommandError } from "../../../runtime/commandError.ts";
import type { Talk } from "../command.ts";
import { moveAndTell, toMove } from "./moveCellCommand.ts";
import { type OnCoordinator, onCoordinator } from "./onCoordinator.ts";
import { citusVersion, refuseWalLevel } from "./refuseUnfitServers.ts";

const toAdd = [
  "citus_add_node(text, integer, integer, noderole, name)",
  "citus_set_node_property(text, integer, text, boolean)",
  "replicate_reference_tables(citus.shard_transfer_mode)",
];
const toDrain = [
  ...toMove,
  "citus_set_node_property(text, integer, text, boolean)",
  "citus_remove_node(text, integer)",
];

/** Makes a server a worker of Citus, or lets a drained worker take cells again. Moves no cells. */
export async function addWorker(config: Config, server: Server, talk: Talk): Promise<void> {
  await onCoordinator(config, talk, toAdd, async (coordinator) => {
    const { client, steps } = coordinator;
    const place = placeOfServer(server);
    steps.doing(`looking at ${place}`);
    await onServer(coordinator, server, (worker) => refuseUnfit(client, worker, server));
    const known = (await readWorkers(client)).find((worker) => isSameServer(worker, server));
    if (known === undefined) {
      steps.doing(`making ${place} a worker`);
      await client.query("select citus_add_node($1, $2)", [server.host, server.port]);
      steps.done(`${place} is a worker`);
    } else if (!known.takesCells) {
      await setTakesCells(client, server, true);
      steps.done(`${place} takes cells again`);
    } else steps.done(`${place} is a worker already`);
    const { distributed } = (await readDistribution(client))!;
    if (distributed.length > 0) {
      steps.doing("copying the tables that all cells read to every server");
      await client.query("select replicate_reference_tables()");
      steps.done(`${place} has the tables that all cells read`);
      await onServer(coordinator, server, (worker) => refuseWithoutFunctions(client, worker, server));
    }
    const cells = await placedCells(client);
    adviseMoves(await presentCells(client), cells, { server, workers: await readWorkers(client) }, talk);
    talk.show({ worker: place, cells: cells.filter((cell) => isSameServer(cell, server)).length });
  });
}

/** Moves a worker's cells to the other workers, while the service runs. @param isToBeRemoved then removes it from Citus. */
export async function drainWorker(
  config: Config,
  server: Server,
  isToBeRemoved: boolean,
  talk: Talk,
): Promise<void> {
  await onCoordinator(config, talk, toDrain, async (coordinator) => {
    const { client, steps } = coordinator;
    const place = placeOfServer(server);
    const workers = await readWorkers(client);
    const worker = workers.find((one) => isSameServer(one, server));
    if (worker === undefined && isToBeRemoved) {
      talk.say(`${place} is no worker, or none any more`);
      talk.show({ worker: place, moved: 0, removed: true });
      return;
    }
    if (worker === undefined) throw new CommandError(`${place} is no worker of Citus`, "notFound");
    const own = (await placedCells(client)).filter((cell) => isSameServer(cell, server));
    const others = workers.filter((one) => one !== worker && one.takesCells);
    if (own.length > 0 && others.length === 0)
      throw new CommandError(`${place} has ${own.length} cells, and no other worker takes cells`, "conflict");
    // Before the moves, so that the worker gets no new cells, also after an interrupted drain.
    if (worker.takesCells) await setTakesCells(client, server, false);
    for (const { schema } of own)
      await moveAndTell(coordinator, { schema, from: server, to: await emptiestWorker(client, others) });
    if (isToBeRemoved) {
      steps.doing(`removing ${place} from Citus`);
      // A removed worker forwards no calls, so services must have read the cells' new servers before.
      if (own.length > 0) await delay(2 * followEveryMs);
      await client.query("select citus_remove_node($1, $2)", [server.host, server.port]);
      steps.done(`Citus has forgotten ${place}: it can be switched off`);
    } else {
      steps.done(
        `${place} has no cells and gets none. Before it is switched off: postrider db worker drain ${place} --remove`,
      );
    }
    talk.show({ worker: place, moved: own.length, removed: isToBeRemoved });
  });
}

/**
 * Runs `work` in a session on the server.
 * @throws {CommandError} when it cannot be reached, because the service could not either.
 */
async function onServer(
  { connection }: OnCoordinator,
  server: Server,
  work: (worker: pg.Client) => Promise<void>,
): Promise<void> {
  let worker: pg.Client;
  try {
    worker = await openSession(atServer(connection, server));
  } catch (cause) {
    throw new CommandError(
      `${placeOfServer(server)} cannot be reached with the database, user and password of DATABASE_URL, as the service does: ` +
        (cause as Error).message,
      "failed",
      { cause },
    );
  }
  try {
    await work(worker);
  } finally {
    await worker.end();
  }
}

async function refuseUnfit(client: pg.ClientBase, worker: pg.ClientBase, server: Server): Promise<void> {
  const place = placeOfServer(server);
  const [here, there] = [await citusVersion(client), await citusVersion(worker)];
  if (there === undefined) {
    throw new CommandError(
      `the database has no Citus on ${place}: run create extension citus in it there`,
      "conflict",
    );
  }
  if (there !== here)
    throw new CommandError(`Citus is ${there} on ${place}, and ${here} on the coordinator`, "conflict");
  const [own, its] = [await readServer(client), await readServer(worker)];
  if (its.major !== own.major) {
    throw new CommandError(
      `PostgreSQL is ${its.major} on ${place}, and ${own.major} on the coordinator`,
      "conflict",
    );
  }
  if (its.is_coordinator) throw new CommandError(`${place} has workers of its own`, "conflict");
  refuseWalLevel(server, its.wal_level);
}

async function readServer(client: pg.ClientBase) {
  const { rows } = await client.query<{ major: number; wal_level: string; is_coordinator: boolean }>(
    `select
       current_setting('server_version_num')::integer / 10000 as major,
       current_setting('wal_level') as wal_level,
       (select groupid = 0 from pg_dist_local_group) and exists (select from pg_dist_node) as is_coordinator`,
  );
  return rows[0]!;
}

/** @throws {CommandError} when the worker lacks functions that the service calls on it; Citus copies only those it knows of. */
async function refuseWithoutFunctions(
  client: pg.ClientBase,
  worker: pg.ClientBase,
  server: Server,
): Promise<void> {
  const count = async (session: pg.ClientBase): Promise<number> => {
    const { rows } = await session.query<{ count: number }>(
      `select count(*)::integer as count
       from pg_proc p
       join pg_namespace n on n.oid = p.pronamespace
       where n.nspname ~ $1`,
      [functionSchemaPattern],
    );
    return rows[0]!.count;
  };
  const [here, there] = [await count(client), await count(worker)];
  if (here === there) return;
  throw new CommandError(
    `${placeOfServer(server)} has ${there} of the ${here} functions of the service, so that no cell can work there: see its log, ` +
      `remove it with postrider db worker drain ${placeOfServer(server)} --remove, and add it again`,
    "failed",
  );
}

/** Prints the moves that would give the worker its share of cells; none is made automatically. */
function adviseMoves(
  schemas: readonly string[],
  cells: readonly PlacedCell[],
  { server, workers }: { server: Server; workers: readonly Server[] },
  { say }: Talk,
): void {
  const share = Math.floor(cells.length / workers.length);
  const left = cells.filter((cell) => !isSameServer(cell, server));
  const moves: string[] = [];
  for (let own = cells.length - left.length; own < share; own++) {
    const on = Map.groupBy(left, placeOfServer);
    const fullest = [...on.values()].toSorted((one, other) => other.length - one.length)[0]!;
    const cell = fullest.at(-1)!;
    left.splice(left.indexOf(cell), 1);
    moves.push(`postrider db move-cell ${schemas.indexOf(cell.schema)} ${placeOfServer(server)}`);
  }
  if (moves.length > 0) say(`Cells do not move by themselves. To give it its share: ${moves.join("; ")}`);
}
