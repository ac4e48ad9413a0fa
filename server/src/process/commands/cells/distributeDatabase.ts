import type pg from "pg";
import { refuseWhileRunning } from "../../../backup/emptiness.ts";
import type { Config } from "../../../config/config.ts";
import { distribute, undistribute } from "../../../postgres/placement/distribute.ts";
import { type Distribution, isComplete, readDistribution } from "../../../postgres/distribution.ts";
import { presentCells } from "../../../postgres/ensureCells.ts";
import { migrationLockKey } from "../../../postgres/migrate.ts";
import { placeOfServer } from "../../../postgres/cellServers.ts";
import { placedCells } from "../../../postgres/placement/workers.ts";
import { refuseOtherSchema } from "../../../postgres/placement/refuseIndivisible.ts";
import { CommandError } from "../../../runtime/commandError.ts";
import type { Talk } from "../command.ts";
import { type OnCoordinator, onCoordinator, takeSessionLock } from "./onCoordinator.ts";
import { refuseUnfitWorkers } from "./refuseUnfitServers.ts";

const toDistribute = [
  "create_reference_table(regclass)",
  "citus_schema_distribute(regnamespace)",
  "citus_set_node_property(text, integer, text, boolean)",
  "run_command_on_workers(text, boolean)",
  "truncate_local_data_after_distributing_table(regclass)",
];
const toUndistribute = ["citus_schema_undistribute(regnamespace)", "undistribute_table(regclass, boolean)"];

/** Moves the cells of a database to the workers of Citus, while no service runs. Continues an interrupted run. */
export async function distributeDatabase(config: Config, talk: Talk): Promise<void> {
  await onCoordinator(config, talk, toDistribute, async ({ client, steps }) => {
    await keepServicesOut(client);
    const cells = await presentCells(client);
    if (cells.length === 0) {
      throw new CommandError(
        "the database has one cell, and one cell is on one server: divide it first, with postrider db divide --cells 4 --yes",
        "conflict",
      );
    }
    await refuseUnfitWorkers(client);
    const found = (await readDistribution(client))!;
    tellWhatIsDone(found, found.distributed, talk);
    await distribute(client, steps);
    if (isComplete(found) && found.distributed.length > 0) talk.say("All cells are on workers already");
    talk.say(`Start the service with POSTRIDER_CELLS=${cells.length}, as before`);
    talk.show({ cells: await placed(client) });
  });
}

/** Moves the cells of a database back to the coordinator, while no service runs. Continues an interrupted run. */
export async function undistributeDatabase(config: Config, talk: Talk): Promise<void> {
  await onCoordinator(config, talk, toUndistribute, async (coordinator) => {
    const { client, steps } = coordinator;
    await keepServicesOut(client);
    const found = (await readDistribution(client))!;
    tellWhatIsDone(found, found.local, talk);
    await tellSizes(coordinator, talk);
    await undistribute(client, steps);
    const cells = await presentCells(client);
    if (isComplete(found) && found.distributed.length === 0)
      talk.say("All cells are on the coordinator already");
    talk.say(`Start the service with POSTRIDER_CELLS=${Math.max(1, cells.length)}, as before`);
    talk.show({ cells: cells.map((schema, cell) => ({ cell, schema, server: "the coordinator" })) });
  });
}

/**
 * Keeps processes from starting by holding the migration lock, which each start takes.
 * @throws {CommandError} when a service runs.
 */
async function keepServicesOut(client: pg.ClientBase): Promise<void> {
  await takeSessionLock(
    client,
    migrationLockKey,
    "a process starts on the database, or another command changes it",
  );
  await refuseWhileRunning(client);
  await refuseOtherSchema(client);
}

function tellWhatIsDone(found: Distribution, done: readonly string[], { say }: Talk): void {
  if (isComplete(found)) return;
  const list = done.length === 0 ? "" : ` (${done.join(", ")})`;
  say(`An earlier command was interrupted: ${done.length} cells are done${list}`);
}

async function tellSizes({ client }: OnCoordinator, { say }: Talk): Promise<void> {
  const cells = await placedCells(client);
  if (cells.length === 0) return;
  const bytes = cells.reduce((sum, cell) => sum + (cell.bytes ?? 0), 0);
  say(`Bringing back ${Math.ceil(bytes / 1_048_576)} MiB; the coordinator needs as much room on its disk`);
}

async function placed(client: pg.ClientBase): Promise<object[]> {
  const numbers = await presentCells(client);
  return (await placedCells(client)).map(({ schema, bytes, ...server }) => ({
    cell: numbers.indexOf(schema),
    schema,
    server: placeOfServer(server),
    bytes,
  }));
}
