import type pg from "pg";
import { sweepRateLimits } from "../accounts/rateLimit.ts";
import { sweepResets } from "../accounts/resetStore.ts";
import { sweepSessions } from "../accounts/sessionStore.ts";
import { sweepPortals } from "../portal/sessions.ts";
import { forgetEntries } from "../audit/store.ts";
import { foldUsage } from "../billing/foldUsage.ts";
import { type Config, mailboxRetentionMs } from "../config/config.ts";
import {
  foldMailboxActivity,
  forgetDeletedMailboxes,
  sweepClaimIds,
  sweepExpiredMessages,
} from "../mailbox/finish/sweepMessages.ts";
import { endRotations } from "../targets/webhook/rotateSecret.ts";
import { sweepInvitations } from "../members/invitationStore.ts";
import type { Handoffs } from "../handoff/handoffs.ts";
import { sweepPolls } from "../handoff/follow/pollStore.ts";
import type { Log } from "../telemetry/log.ts";
import { analyzePartitions } from "../maintenance/analyzePartitions.ts";
import { buildIndexes } from "../maintenance/buildIndexes.ts";
import { cancelExpired, cancelOrphans } from "../delivery/rows/cancelDeliveries.ts";
import { forgetInterventions } from "../mailbox/finish/forceMessage.ts";
import type { Mailboxes } from "../mailbox/mailboxes.ts";
import { carryOnErasures, eraseDigests } from "../erasures/chores.ts";
import { tellEvents } from "../notifications/tellEvents.ts";
import type { Changes } from "../items/changes.ts";
import { firstIdAt } from "../postgres/ids.ts";
import type { Cell } from "../postgres/cells.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { dayMs, ensurePartitions } from "../postgres/partitions.ts";
import { dropOldPartitions } from "../maintenance/dropOldPartitions.ts";
import { dropUnusedFunctions } from "../maintenance/dropUnusedFunctions.ts";
import { type Chore, startLoop } from "../maintenance/chore.ts";
import type { Quiet } from "../runtime/quiet.ts";
import { followReplayed, forgetReplays } from "../replays/followReplayed.ts";
import { createQueries } from "../postgres/tables.ts";
import { foldActivity, forgetActivity } from "../stats/foldActivity.ts";
import { sweepCircuits } from "../delivery/rows/openCircuits.ts";
import { sweepPermits } from "../delivery/rows/permits.ts";
import { sweepDeliveries } from "../delivery/rows/sweepDeliveries.ts";
import { sweepHeaderSets } from "../targets/webhook/headerSets.ts";

export interface MaintenanceDeps {
  config: Config;
  pool: pg.Pool;
  log: Log;
  nowMs: () => number;
  clock: Pick<ClockCheck, "look">;
  /** Told how many days past retention a cell still has. */
  onHeldDays: (cellNumber: number, days: number) => void;
  changes: Changes;
  quiet: Quiet;
  cells: readonly CellDeps[];
}

/** Dependencies of the chores of one cell. */
interface CellDeps {
  cell: Cell;
  handoffs: Pick<Handoffs, "refreshDueCards">;
  mailboxes: Pick<Mailboxes, "onMailboxItems">;
  /** Tells the cell's local dispatcher that something became due. */
  onDue: () => void;
}

type ItemDeps = Omit<MaintenanceDeps, "cells"> & CellDeps;

const seconds = 1_000;
const minutes = 60 * seconds;

/** Chores that are as rare as this begin some time after the start: all at once they would take its connections from requests. */
const rareEveryMs = 5 * minutes;
const rareFirstAfterMs = 20 * seconds;

type Counts = Record<string, number>;

/**
 * A chore's work that deletes what is past some time, by the earlier of the two clocks. It rests while they disagree: a process
 * with a wrong clock, or a database with one, must not take what others keep. The clock itself says so in the log.
 */
function trimming(
  { clock }: Pick<MaintenanceDeps, "clock">,
  trim: (nowMs: number) => Promise<Counts>,
): () => Promise<Counts> {
  return async () => {
    const { earlierMs, isApart } = await clock.look();
    return isApart ? {} : trim(earlierMs);
  };
}

/** Everything the service does by itself. Each chore may run on several nodes at once without harm. */
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

/** In each cell, and in the tables of the control plane. */
export function allChores(deps: MaintenanceDeps): Chore[] {
  return [...deps.cells.flatMap((cell) => choresOf(deps, cell)), ...accountChores(deps)];
}

/** Chores of one cell; their names in the log have its number where there are several. */
function choresOf(deps: MaintenanceDeps, { cell, handoffs, mailboxes, onDue }: CellDeps): Chore[] {
  const itemDeps = { ...deps, pool: cell.pool, cell, handoffs, mailboxes, onDue };
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
  return [
    {
      name: "lease sweep",
      everyMs: 2 * seconds,
      runOnce: async () => ({ leases: await sweepDeliveries(pool) }),
    },
    {
      name: "polls of stopped nodes",
      everyMs: 5 * seconds,
      runOnce: async () => ({ polls: await sweepPolls(pool) }),
    },
    {
      name: "usage folding",
      everyMs: 5 * seconds,
      runOnce: async () => ({ records: await foldUsage(pool, { cellNumber: cell.number }) }),
    },
    {
      name: "activity folding",
      everyMs: 5 * seconds,
      runOnce: async () => ({ rows: await foldActivity(pool, cell.number) }),
    },
    {
      name: "circuits of stopped nodes",
      everyMs: minutes,
      runOnce: async () => ({ circuits: await sweepCircuits(pool) }),
    },
    {
      name: "permits of stopped nodes and deleted targets",
      everyMs: minutes,
      runOnce: async () => ({ rows: await sweepPermits(pool) }),
    },
    {
      name: "deliveries of deleted targets",
      everyMs: 30 * seconds,
      runOnce: async () => ({ canceled: await cancelOrphans(pool) }),
    },
  ];
}

function mailboxChores({ config, pool, clock }: ItemDeps): Chore[] {
  return [
    {
      name: "expired messages",
      everyMs: 10 * seconds,
      runOnce: trimming({ clock }, async () => ({
        messages: await sweepExpiredMessages(pool, mailboxRetentionMs(config)),
      })),
    },
    {
      name: "answered Claim-Ids",
      everyMs: 30 * seconds,
      runOnce: trimming({ clock }, async () => ({ claims: await sweepClaimIds(pool) })),
    },
    {
      name: "mailbox ledger",
      everyMs: 5 * seconds,
      runOnce: async () => ({ rows: await foldMailboxActivity(pool) }),
    },
    {
      name: "ledger of deleted mailboxes",
      everyMs: 30 * minutes,
      runOnce: async () => ({ rows: await forgetDeletedMailboxes(pool) }),
    },
  ];
}

function replayChores({ config, pool, clock, nowMs }: ItemDeps): Chore[] {
  const queries = createQueries(pool);
  return [
    {
      name: "outcomes of replays",
      everyMs: seconds,
      // Too often for a line in the log each time.
      runOnce: async () => {
        await followReplayed(queries, { mailboxRetentionMs: mailboxRetentionMs(config), nowMs: nowMs() });
        return {};
      },
    },
    {
      name: "replays past retention",
      everyMs: 30 * minutes,
      runOnce: trimming({ clock }, async () => ({
        replays: await forgetReplays(queries, config.retentionDays),
      })),
    },
  ];
}

/** Chores that carry out what was asked for or noted before. */
function doingChores({ config, pool, mailboxes, changes, onDue, clock }: ItemDeps): Chore[] {
  const onMailboxItems = (ids: string[]): void => mailboxes.onMailboxItems(ids);
  const mailboxRetention = mailboxRetentionMs(config);
  return [
    {
      name: "operational events",
      everyMs: seconds,
      runOnce: async () => ({ items: await tellEvents({ pool, changes, onDue, onMailboxItems }) }),
    },
    {
      name: "erasures",
      everyMs: seconds,
      runOnce: async () => ({
        events: await carryOnErasures({ pool, mailboxRetentionMs: mailboxRetention, onMailboxItems }),
      }),
    },
    {
      name: "digests of erased items",
      everyMs: 5 * seconds,
      runOnce: async () => ({ items: await eraseDigests(pool) }),
    },
    {
      name: "interventions past retention",
      everyMs: 30 * minutes,
      runOnce: trimming({ clock }, async (nowMs) => ({
        rows: await forgetInterventions(pool, firstIdAt(nowMs - config.retentionDays * dayMs)),
      })),
    },
  ];
}

function storageChores(deps: ItemDeps): Chore[] {
  const { config, pool, cell } = deps;
  const { retentionDays } = config;
  return [
    {
      name: "partitions ahead",
      everyMs: minutes,
      runOnce: async () => ({ created: await ensurePartitions(pool) }),
    },
    {
      name: "indexes of earlier days",
      everyMs: 5 * minutes,
      runOnce: async (stopping) => ({ built: await buildIndexes(pool, stopping, cell.number) }),
    },
    {
      name: "retention",
      everyMs: 30 * minutes,
      runOnce: trimming(deps, (nowMs) => dropDays(deps, nowMs)),
    },
    {
      name: "items past retention",
      everyMs: 5 * minutes,
      runOnce: trimming(deps, async (nowMs) => ({
        canceled: await cancelExpired(pool, { retentionDays, nowMs }),
      })),
    },
    {
      name: "statistics",
      everyMs: 60 * minutes,
      runOnce: async () => {
        await analyzePartitions(pool);
        return {};
      },
    },
    {
      name: "activity past retention",
      everyMs: 30 * minutes,
      runOnce: trimming(deps, async () => ({ steps: await forgetActivity(pool) })),
    },
    {
      name: "headers past retention",
      everyMs: 30 * minutes,
      runOnce: trimming(deps, async (nowMs) => ({
        sets: await sweepHeaderSets(pool, { retentionDays, nowMs }),
      })),
    },
  ];
}

async function dropDays({ config, pool, cell, log, onHeldDays }: ItemDeps, nowMs: number): Promise<Counts> {
  const { retentionDays } = config;
  const retention = { retentionDays, nowMs, cellNumber: cell.number };
  const { partitions, deliveries, heldDays } = await dropOldPartitions(pool, retention);
  onHeldDays(cell.number, heldDays);
  if (heldDays > 0) {
    log.warn(
      { held_days: heldDays, retention_days: retentionDays, cell: cell.number },
      "more days are past retention than are dropped within 24 hours, which are two: the rest follows by and by; if the clocks and POSTRIDER_RETENTION_DAYS are right, postrider db drop-expired --yes drops them now",
    );
  }
  return { partitions, deliveries };
}

/** Chores on the tables of the control plane. */
function accountChores({ config, pool, clock, cells }: MaintenanceDeps): Chore[] {
  return [
    {
      name: "agent cards",
      everyMs: 10 * seconds,
      runOnce: () => cells[0]!.handoffs.refreshDueCards(),
    },
    {
      name: "rotations that end by themselves",
      everyMs: minutes / 2,
      runOnce: trimming({ clock }, async (nowMs) => ({
        secrets: await endRotations(createQueries(pool), nowMs),
      })),
    },
    {
      name: "functions of versions that are gone",
      everyMs: 30 * minutes,
      runOnce: trimming({ clock }, async () => ({ versions: await dropUnusedFunctions(pool) })),
    },
    {
      name: "expired sessions and links to reset passwords",
      everyMs: 30 * minutes,
      runOnce: trimming({ clock }, async () => ({
        rows: (await sweepSessions(pool)) + (await sweepResets(pool)),
      })),
    },
    {
      name: "links and sessions of portals that are over",
      everyMs: 30 * minutes,
      runOnce: trimming({ clock }, async () => ({ rows: await sweepPortals(pool) })),
    },
    {
      name: "rate limits",
      everyMs: 5 * minutes,
      runOnce: trimming({ clock }, async () => ({ rows: await sweepRateLimits(pool) })),
    },
    {
      name: "invitations that are over",
      everyMs: 60 * minutes,
      runOnce: trimming({ clock }, async () => ({ rows: await sweepInvitations(pool) })),
    },
    {
      name: "audit log past retention",
      everyMs: 30 * minutes,
      runOnce: trimming({ clock }, async (nowMs) => ({
        entries: await forgetEntries(pool, { retentionDays: config.auditRetentionDays, nowMs }),
      })),
    },
  ];
}
