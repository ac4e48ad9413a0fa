import { sweepRateLimits } from "../accounts/rateLimit.ts";
import type pg from "pg";
import { forgetEntries } from "../audit/store.ts";
import { foldUsage } from "../billing/foldUsage.ts";
import {
  foldMailboxActivity,
  forgetDeletedMailboxes,
  sweepClaimIds,
  sweepExpiredMessages,
} from "../mailbox/finish/sweepMessages.ts";
import { endRotations } from "../targets/webhook/rotateSecret.ts";
import { listedSeconds } from "../members/invitationStore.ts";
import type { Handoffs } from "../handoff/handoffs.ts";
import { sweepPolls } from "../handoff/follow/pollStore.ts";
import { analyzePartitions } from "../maintenance/analyzePartitions.ts";
import { buildIndexes } from "../maintenance/buildIndexes.ts";
import { cancelExpired, cancelOrphans } from "../delivery/rows/cancelDeliveries.ts";
import { forgetInterventions } from "../mailbox/finish/forceMessage.ts";
import { carryingOnErasures, eraseDigests } from "../erasures/chores.ts";
import { tellEvents } from "../notifications/store.ts";
import { firstIdAt } from "../postgres/ids.ts";
import type { Cell } from "../postgres/cells.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { dayMs, ensurePartitions } from "../postgres/partitions.ts";
import { dropOldPartitions } from "../maintenance/dropOldPartitions.ts";
import { dropUnusedFunctions } from "../maintenance/dropUnusedFunctions.ts";
import { type Chore, startLoop, trimming } from "../maintenance/chore.ts";
import type { Quiet } from "../runtime/quiet.ts";
import { followReplayed, forgetReplays } from "../replays/followReplayed.ts";
import { createQueries } from "../postgres/tables.ts";
import { foldActivity, forgetActivity } from "../stats/foldActivity.ts";
import { sweepCircuits } from "../delivery/rows/openCircuits.ts";
import { sweepPermits } from "../delivery/rows/permits.ts";
import { sweepDeliveries } from "../delivery/rows/sweepDeliveries.ts";
import { sweepHeaderSets } from "../targets/webhook/headerSets.ts";
import type { Parts } from "../items/parts.ts";

export interface MaintenanceDeps extends Pick<Parts, "config" | "pool" | "log" | "nowMs" | "changes"> {
  clock: Pick<ClockCheck, "look">;
  /** Called with the number of days past retention that a cell still keeps. */
  onHeldDays: (cellNumber: number, days: number) => void;
  quiet: Quiet;
  cells: readonly CellDeps[];
}

/** Dependencies of the chores of one cell. */
interface CellDeps extends Pick<Parts, "onDue" | "onMailboxItems"> {
  cell: Cell;
  handoffs: Pick<Handoffs, "refreshDueCards">;
}

type ItemDeps = Omit<MaintenanceDeps, "cells"> & CellDeps & { trim: ReturnType<typeof trimmer> };

const seconds = 1_000;
const minutes = 60 * seconds;

/**
 * Chores with at least this interval first run {@link rareFirstAfterMs} after the start, so that they do not take the pool's
 * connections from the first requests.
 */
const rareEveryMs = 5 * minutes;
const rareFirstAfterMs = 20 * seconds;

/** A chore that returns one count. @param counted name of the count in the log. */
function chore(
  name: string,
  everyMs: number,
  counted: string,
  run: (stopping: AbortSignal) => Promise<number>,
): Chore {
  return { name, everyMs, runOnce: async (stopping) => ({ [counted]: await run(stopping) }) };
}

/** Returns a function that makes chores which delete rows by age; see {@link trimming}. */
function trimmer(deps: Pick<MaintenanceDeps, "clock">) {
  return (
    name: string,
    everyMs: number,
    counted: string,
    run: (nowMs: number) => Promise<number>,
  ): Chore => ({
    name,
    everyMs,
    runOnce: trimming(deps.clock, async (nowMs) => ({ [counted]: await run(nowMs) })),
  });
}

/** Starts all chores. Each chore may safely run on several nodes at once. */
export function startMaintenance(deps: MaintenanceDeps): { stop(): Promise<void> } {
  const { log, quiet } = deps;
  const loops = allChores(deps).map((chore) =>
    startLoop(chore, log, { firstAfterMs: chore.everyMs >= rareEveryMs ? rareFirstAfterMs : 0, quiet }),
  );
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

/** The chores of each cell, and those on the tables of the control plane. */
export function allChores(deps: MaintenanceDeps): Chore[] {
  return [...deps.cells.flatMap((cell) => choresOf(deps, cell)), ...accountChores(deps)];
}

/** Chores of one cell. With several cells, the chores' names in the log contain the cell's number. */
function choresOf(deps: MaintenanceDeps, { cell, handoffs, onDue, onMailboxItems }: CellDeps): Chore[] {
  const itemDeps = { ...deps, pool: cell.pool, cell, handoffs, onDue, onMailboxItems, trim: trimmer(deps) };
  const chores = [
    ...itemChores(itemDeps),
    ...mailboxChores(itemDeps),
    ...replayChores(itemDeps),
    ...doingChores(itemDeps),
    ...storageChores(itemDeps),
  ];
  if (deps.cells.length === 1) return chores;
  for (const chore of chores) chore.name += ` (cell ${cell.number})`;
  return chores;
}

function itemChores({ pool, cell }: ItemDeps): Chore[] {
  // Leases run on the clock of the server that holds the cell. Folding reads rows of every item, and only tables that are on the
  // cell's server: through the coordinator it cost 0.4 ms of the coordinator's processor time per item.
  const { direct } = cell;
  const cellNumber = cell.number;
  return [
    chore("lease sweep", 2 * seconds, "leases", () => sweepDeliveries(direct)),
    chore("polls of stopped nodes", 5 * seconds, "polls", () => sweepPolls(direct)),
    chore("usage folding", 5 * seconds, "records", () => foldUsage(direct, { cellNumber })),
    chore("activity folding", 5 * seconds, "rows", () => foldActivity(direct, cellNumber)),
    chore("circuits of stopped nodes", minutes, "circuits", () => sweepCircuits(pool)),
    chore("permits of stopped nodes and deleted targets", minutes, "rows", () => sweepPermits(pool)),
    chore("deliveries of deleted targets", 30 * seconds, "canceled", () => cancelOrphans(pool)),
  ];
}

function mailboxChores({ config, pool, cell, trim }: ItemDeps): Chore[] {
  const retentionMs = config.mailboxRetentionMs;
  return [
    trim("expired messages", 10 * seconds, "messages", () => sweepExpiredMessages(pool, retentionMs)),
    trim("answered Claim-Ids", 30 * seconds, "claims", () => sweepClaimIds(pool)),
    chore("mailbox ledger", 5 * seconds, "rows", () => foldMailboxActivity(cell.direct)),
    chore("ledger of deleted mailboxes", 30 * minutes, "rows", () => forgetDeletedMailboxes(pool)),
  ];
}

function replayChores({ config, pool, nowMs, trim }: ItemDeps): Chore[] {
  const queries = createQueries(pool);
  return [
    {
      name: "outcomes of replays",
      everyMs: seconds,
      // No counts: the chore runs too often for a log line each time.
      runOnce: async () => {
        await followReplayed(queries, { mailboxRetentionMs: config.mailboxRetentionMs, nowMs: nowMs() });
        return {};
      },
    },
    trim("replays past retention", 30 * minutes, "replays", () =>
      forgetReplays(queries, config.retentionDays),
    ),
  ];
}

/** Chores that send operational events, carry out erasures, and delete the records of interventions past retention. */
function doingChores({ config, pool, changes, onDue, onMailboxItems, trim }: ItemDeps): Chore[] {
  const erasing = { pool, mailboxRetentionMs: config.mailboxRetentionMs, onMailboxItems };
  return [
    chore("operational events", seconds, "items", () => tellEvents({ pool, changes, onDue, onMailboxItems })),
    chore("erasures", seconds, "events", carryingOnErasures(erasing)),
    chore("digests of erased items", 5 * seconds, "items", () => eraseDigests(pool)),
    trim("interventions past retention", 30 * minutes, "rows", (nowMs) =>
      forgetInterventions(pool, firstIdAt(nowMs - config.retentionDays * dayMs)),
    ),
  ];
}

function storageChores(deps: ItemDeps): Chore[] {
  const { config, pool, cell, trim } = deps;
  const { retentionDays } = config;
  return [
    chore("partitions ahead", minutes, "created", () => ensurePartitions(pool)),
    chore("indexes of earlier days", 5 * minutes, "built", (stopping) =>
      buildIndexes(pool, stopping, cell.number),
    ),
    {
      name: "retention",
      everyMs: 30 * minutes,
      runOnce: trimming(deps.clock, (nowMs) => dropDays(deps, nowMs)),
    },
    trim("items past retention", 5 * minutes, "canceled", (nowMs) =>
      cancelExpired(pool, { retentionDays, nowMs }),
    ),
    {
      name: "statistics",
      everyMs: 60 * minutes,
      runOnce: async () => {
        await analyzePartitions(pool);
        return {};
      },
    },
    trim("activity past retention", 30 * minutes, "steps", () => forgetActivity(pool)),
    trim("headers past retention", 30 * minutes, "sets", (nowMs) =>
      sweepHeaderSets(pool, { retentionDays, nowMs }),
    ),
  ];
}

async function dropDays(
  { config, pool, cell, log, onHeldDays }: ItemDeps,
  nowMs: number,
): Promise<Record<string, number>> {
  const { retentionDays } = config;
  const retention = { retentionDays, nowMs, cellNumber: cell.number };
  const { partitions, deliveries, heldDays } = await dropOldPartitions(pool, retention);
  onHeldDays(cell.number, heldDays);
  if (heldDays > 0) {
    log.warn(
      { held_days: heldDays, retention_days: retentionDays, cell: cell.number },
      "more days are past retention than may be dropped within 24 hours (two); the others are dropped on the following days, or, after the database's clock was ahead, once that time has come; if the clocks and POSTRIDER_RETENTION_DAYS are right, postrider db drop-expired --yes drops them now",
    );
  }
  return { partitions, deliveries };
}

/** Chores on the tables of the control plane. */
function accountChores(deps: MaintenanceDeps): Chore[] {
  const { config, pool, cells } = deps;
  const trim = trimmer(deps);
  return [
    { name: "agent cards", everyMs: 10 * seconds, runOnce: () => cells[0]!.handoffs.refreshDueCards() },
    trim("rotations that end by themselves", minutes / 2, "secrets", (nowMs) =>
      endRotations(createQueries(pool), nowMs),
    ),
    trim("functions of versions that are gone", 30 * minutes, "versions", () => dropUnusedFunctions(pool)),
    trim("expired sessions and links to reset passwords", 30 * minutes, "rows", () =>
      deleteExpired(pool, ["sessions", "password_resets"]),
    ),
    trim("links and sessions of portals that are over", 30 * minutes, "rows", () =>
      deleteExpired(pool, ["portal_links", "portal_sessions"]),
    ),
    trim("rate limits", 5 * minutes, "rows", () => sweepRateLimits(pool)),
    trim("invitations that are over", 60 * minutes, "rows", () =>
      deleteExpired(pool, ["invitations"], listedSeconds),
    ),
    trim("audit log past retention", 30 * minutes, "entries", (nowMs) =>
      forgetEntries(pool, { retentionDays: config.auditRetentionDays, nowMs }),
    ),
  ];
}

/**
 * Deletes rows that expired at least `agoSeconds` ago. Requests no longer accept them.
 * @param tables names of tables with a column `expires_at`.
 * @returns the number of deleted rows.
 */
export async function deleteExpired(
  pool: pg.Pool,
  tables: readonly string[],
  agoSeconds = 0,
): Promise<number> {
  let deleted = 0;
  for (const table of tables) {
    const { rowCount } = await pool.query(
      `delete from ${table}
       where expires_at <= extract(epoch from now()) - $1`,
      [agoSeconds],
    );
    deleted += rowCount ?? 0;
  }
  return deleted;
}
