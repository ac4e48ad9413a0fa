import type { ClockCheck } from "../postgres/clock.ts";
import type { Cells } from "../postgres/cells.ts";
import { isAccompanied, noteAlive, type ProcessRecord, whyOvertaken } from "../postgres/processes.ts";
import { type Loop, startLoop } from "../maintenance/chore.ts";
import type { Quiet } from "../runtime/quiet.ts";
import type { Parts } from "../items/parts.ts";

/** How often a process writes down that it runs, and looks whether it still can. */
const everyMs = 10_000;

export interface PresenceDeps extends Pick<Parts, "pool" | "log"> {
  /** One unless told. */
  cells?: Cells | undefined;
  clock: Pick<ClockCheck, "look">;
  /** Never quiet unless told. */
  quiet?: Quiet;
  /** As it was written down at the start; a process without one is not seen by others. */
  process?: ProcessRecord | undefined;
  /** Told whether other processes use the database. */
  onCompany?: ((isAccompanied: boolean) => void) | undefined;
}

/**
 * Shows the others that this process runs, so that its SQL functions stay, notices when they are gone or what they need was
 * taken away, and when its clock and the database's disagree.
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
    /** Resolves with the reason, a sentence, once it is seen that this process cannot go on. */
    overtaken: overtaken.promise,
    /** Asks the database now. Undefined while this process can go on. */
    whyOvertaken: look,
    start(): void {
      loop = startLoop({ name: "sign of life", everyMs, runOnce }, log, quiet && { quiet });
    },
    async stop(): Promise<void> {
      await loop?.stop();
    },
  };
}
