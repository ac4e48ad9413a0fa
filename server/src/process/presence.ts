import type { ClockCheck } from "../postgres/clock.ts";
import type { Cells } from "../postgres/cells.ts";
import { isAccompanied, noteAlive, type ProcessRecord, whyOvertaken } from "../postgres/processes.ts";
import { type Loop, startLoop } from "../maintenance/chore.ts";
import type { Quiet } from "../runtime/quiet.ts";
import type { Parts } from "../items/parts.ts";

/** How often a process records that it runs, and checks whether it can continue. */
const everyMs = 10_000;

export interface PresenceDeps extends Pick<Parts, "pool" | "log"> {
  /** One cell unless given. */
  cells?: Cells | undefined;
  clock: Pick<ClockCheck, "look">;
  /** Never quiet unless given. */
  quiet?: Quiet;
  /** The process's row, as inserted at the start; other processes do not see one without a row. */
  process?: ProcessRecord | undefined;
  /** Called with whether other processes use the database. */
  onCompany?: ((isAccompanied: boolean) => void) | undefined;
}

/**
 * Records regularly that this process runs, so that other versions keep its SQL functions. Notices when these functions, or
 * tables they need, are gone, and when its clock and the database's disagree.
 */
export function createPresence(deps: PresenceDeps) {
  const { pool, cells, log, clock, process, quiet, onCompany } = deps;
  let loop: Loop | undefined;
  const overtaken = Promise.withResolvers<string>();

  async function look(): Promise<string | undefined> {
    const reason = await whyOvertaken(pool, cells?.all().length ?? 1);
    if (reason !== undefined) overtaken.resolve(reason);
    return reason;
  }

  async function runOnce(): Promise<Record<string, number>> {
    if (process !== undefined) {
      await noteAlive(pool, process);
      if (onCompany !== undefined) onCompany(await isAccompanied(pool, process));
    }
    await look();
    await clock.look();
    return {};
  }

  return {
    /** Resolves with the reason, a sentence, when a check finds that this process cannot continue. */
    overtaken: overtaken.promise,
    /** Checks the database now. Resolves with the reason why this process cannot continue, or undefined. */
    whyOvertaken: look,
    start(): void {
      loop = startLoop({ name: "sign of life", everyMs, runOnce }, log, quiet && { quiet });
    },
    async stop(): Promise<void> {
      await loop?.stop();
    },
  };
}
