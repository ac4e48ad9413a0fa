import { createRandom } from "../../../server/test/support/billing/random.ts";
import { nodeNames } from "../world/citus/citusCluster.ts";
import type { Action, Group, Limits, Step } from "./action.ts";
import { citusActions } from "./citus.ts";
import { databaseActions } from "./database.ts";
import { networkActions } from "./network.ts";
import { serviceActions } from "./processes.ts";

export interface ScheduledStep extends Step {
  /** Milliseconds since the clients began. */
  atMs: number;
}

export interface ScheduleInput {
  seed: number;
  durationMs: number;
  /** Average interval between two steps, milliseconds. */
  meanGapMs: number;
  only: readonly Group[];
  limits: Limits;
  /** Whether the database is a Citus cluster. */
  isOnCitus: boolean;
}

const onOneServer: readonly Action[] = [
  ...serviceActions,
  ...networkActions([]),
  ...databaseActions(["primary"]),
];
const onCitus: readonly Action[] = [
  ...serviceActions,
  ...networkActions(nodeNames.slice(1)),
  ...databaseActions(nodeNames),
  ...citusActions,
];

/**
 * Creates the schedule of faults; equal inputs give equal schedules on every machine. A step begins at its time
 * even if earlier steps are not over, so that faults overlap; steps on one process or server run in order.
 */
export function createSchedule({
  seed,
  durationMs,
  meanGapMs,
  only,
  limits,
  isOnCitus,
}: ScheduleInput): ScheduledStep[] {
  const random = createRandom(seed);
  // One run in three includes the previous version; such a run has no publications.
  const isUpgraded = only.length === 1 || random.chance(1 / 3);
  const chosen = (isOnCitus ? onCitus : onOneServer).filter(
    ({ group }) => only.includes(group) && (group !== "upgrade" || isUpgraded),
  );
  const drawn = chosen.flatMap((action) => Array.from({ length: action.weight }, () => action));
  const steps: ScheduledStep[] = [];
  let atMs = random.integer(300, meanGapMs);
  while (atMs < durationMs && drawn.length > 0) {
    steps.push({ atMs, ...random.pick(drawn).draw(random, limits) });
    // Some steps begin almost at the same time.
    atMs += random.chance(0.2) ? random.integer(0, 100) : random.integer(100, 2 * meanGapMs);
  }
  return steps;
}

/** Returns one line per step. */
export function describeSchedule(steps: readonly ScheduledStep[]): string {
  return steps.map(({ atMs, says }) => `${(atMs / 1000).toFixed(2).padStart(8)} s  ${says}`).join("\n");
}
