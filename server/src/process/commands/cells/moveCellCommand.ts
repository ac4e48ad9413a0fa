import type { Config } from "../../../config/config.ts";
import { isComplete, readDistribution } from "../../../postgres/distribution.ts";
import { presentCells } from "../../../postgres/ensureCells.ts";
import { moveCell } from "../../../postgres/placement/moveCell.ts";
import { placeOfServer, type Server } from "../../../postgres/cellServers.ts";
import { isSameServer, placedCells, readWorkers } from "../../../postgres/placement/workers.ts";
import { CommandError } from "../../../runtime/commandError.ts";
import type { Talk } from "../command.ts";
import { type OnCoordinator, onCoordinator } from "./onCoordinator.ts";
import { refuseUnfitWorkers } from "./refuseUnfitServers.ts";

/** Citus functions that a move calls. */
export const toMove = [
  "citus_schema_move(regnamespace, text, integer, citus.shard_transfer_mode)",
  "replicate_reference_tables(citus.shard_transfer_mode)",
  "citus_cleanup_orphaned_resources()",
  "run_command_on_workers(text, boolean)",
];

/** Moves a cell to a worker, while the service runs. @param number the cell's number, from 0. */
export async function moveCellCommand(config: Config, number: number, to: Server, talk: Talk): Promise<void> {
  await onCoordinator(config, talk, toMove, async (coordinator) => {
    const { client } = coordinator;
    await refuseUndistributed(coordinator);
    await refuseUnfitWorkers(client);
    const schemas = await presentCells(client);
    const schema = schemas[number];
    if (schema === undefined)
      throw new CommandError(
        `there is no cell ${number}: the cells are 0 to ${schemas.length - 1}`,
        "notFound",
      );
    await refuseUnfitTarget(coordinator, to);
    const from = (await placedCells(client)).find((cell) => cell.schema === schema)!;
    const seconds = isSameServer(from, to) ? 0 : await moveAndTell(coordinator, { schema, from, to });
    if (isSameServer(from, to)) talk.say(`${schema} is on ${placeOfServer(to)} already`);
    talk.show({ cell: number, schema, from: placeOfServer(from), server: placeOfServer(to), seconds });
  });
}

/** Moves a cell and reports it. @returns the duration in seconds, rounded to a tenth. */
export async function moveAndTell(
  { client, another, steps }: OnCoordinator,
  move: { schema: string; from: Server; to: Server },
): Promise<number> {
  const ms = await moveCell({ client, watcher: await another(), steps }, move);
  const seconds = Math.round(ms / 100) / 10;
  steps.done(
    `Moved ${move.schema} from ${placeOfServer(move.from)} to ${placeOfServer(move.to)} (${seconds} s)`,
  );
  return seconds;
}

/** @throws {CommandError} when not all cells are on workers. */
async function refuseUndistributed({ client }: OnCoordinator): Promise<void> {
  const found = (await readDistribution(client))!;
  if (isComplete(found) && found.distributed.length > 0) return;
  throw new CommandError(
    `${found.local.length} cells are on the coordinator: postrider db distribute --yes places them on workers`,
    "conflict",
  );
}

async function refuseUnfitTarget({ client }: OnCoordinator, to: Server): Promise<void> {
  const workers = await readWorkers(client);
  const worker = workers.find((one) => isSameServer(one, to));
  if (worker?.takesCells === true) return;
  const known = workers
    .filter(({ takesCells }) => takesCells)
    .map(placeOfServer)
    .join(", ");
  const why = worker === undefined ? "is no worker" : "is drained";
  throw new CommandError(
    `${placeOfServer(to)} ${why}: postrider db worker add ${placeOfServer(to)} lets it take cells; workers that take cells: ${known}`,
    worker === undefined ? "notFound" : "conflict",
  );
}
