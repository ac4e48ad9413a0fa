import type pg from "pg";
import { Registry } from "prom-client";
import { createReach } from "../accounts/scopeReach.ts";
import { createDelivery } from "../delivery/dispatch/createDelivery.ts";
import type { Dispatcher } from "../delivery/dispatch/dispatcher.ts";
import type { Apart, ReadinessDeps } from "../http/readiness.ts";
import { ReadTurns } from "../http/contract/readTurns.ts";
import { KnownFilters } from "../filters/filter.ts";
import { createHandoffs, type Handoffs } from "../handoff/handoffs.ts";
import { createIntake } from "../intake/intake.ts";
import { createMailboxes, type Mailboxes } from "../mailbox/mailboxes.ts";
import { createConsumerTraces } from "../mailbox/traceConsumers.ts";
import { registerMailboxMetrics } from "../mailbox/view/mailboxMetrics.ts";
import { awayReason, awayText } from "../postgres/awayReason.ts";
import type { Cell, Cells } from "../postgres/cells.ts";
import { limitQueries } from "../postgres/hot/queryLimit.ts";
import { createQueries } from "../postgres/tables.ts";
import { createReplayWorker } from "../replays/worker.ts";
import { createSenders } from "../targets/kinds.ts";
import { registerPlaceMetric } from "../telemetry/processMetrics.ts";
import { registerDatabaseMetrics } from "../delivery/rows/databaseMetrics.ts";
import type { Log } from "../telemetry/log.ts";
import type { ServiceDeps, SharedParts } from "./assemble.ts";

export type CellParts = ReturnType<typeof assembleCell>;

/** Creates the parts that work with the items of one cell, on its pool; no other cell shares them. */
export function assembleCell(deps: ServiceDeps, shared: SharedParts, { cell, cells }: Place) {
  const { config, encryptionKey, log, nowMs = Date.now } = deps;
  const { box, changes, clock, keyUsage, leaseTokens, networks, outbound, ownerOf, quiet, traces } = shared;
  const { pool, direct } = cell;
  const { requestPool, directRequests } = requestPoolsOf(cell, config);
  const queries = createQueries(requestPool);
  const registry = registryOf(config, shared, { cell, cells }, requestPool);
  // These functions look up the parts only when called: dispatcher and handoffs call each other, as do handoffs and mailboxes.
  const onDue = (): void => dispatcher.onDue();
  const onMailboxItems = (mailboxIds: string[]): void => mailboxes.onMailboxItems(mailboxIds);
  const onKeyUsed = keyUsage.note;
  const common = {
    config,
    pool,
    direct,
    log,
    nowMs,
    box,
    outbound,
    registry,
    changes,
    traces,
    quiet,
    newToken: leaseTokens.next,
    onDue,
    onMailboxItems,
  };
  const handoffs: Handoffs = createHandoffs({ ...common, queries, encryptionKey, networks });
  const dispatcher: Dispatcher = createDelivery({
    ...common,
    admission: shared.admission,
    senders: createSenders({
      outbound,
      timeoutMs: config.deliveryTimeoutMs,
      nowMs,
      sendHandoff: (delivery, target) => handoffs.send(delivery, target),
    }),
  });
  const mailboxes: Mailboxes = createMailboxes({
    pool: requestPool,
    direct: directRequests,
    log,
    ownerOf,
    retentionMs: config.mailboxRetentionMs,
    changes,
    onKeyUsed,
  });
  const sink = { dispatcher, onMailboxItems, changes, onRefused: refusalLog(log), onKeyUsed };
  const { consumers } = mailboxes;
  const limits = { maxQueuedBytes: config.bodyMemoryBytes, ownerOf, filters: new KnownFilters(), consumers };
  return {
    cell,
    pool: requestPool,
    direct: directRequests,
    queries,
    registry,
    handoffs,
    dispatcher,
    mailboxes,
    onDue,
    onMailboxItems,
    consumerTraces: traces && createConsumerTraces(requestPool, traces),
    intake: createIntake(directRequests, sink, { ...limits, clock }),
    reach: createReach(directRequests),
    reads: new ReadTurns(config.databasePool),
    replays: createReplayWorker({ ...common, clock, queries: createQueries(pool) }),
  };
}

/** Pools for the statements of requests, which have a time limit; background work has none. */
function requestPoolsOf({ pool, direct }: Cell, { databaseTimeoutMs }: ServiceDeps["config"]) {
  const requestPool = limitQueries(pool, databaseTimeoutMs);
  const directRequests = direct === pool ? requestPool : limitQueries(direct, databaseTimeoutMs);
  return { requestPool, directRequests };
}

interface Place {
  cell: Cell;
  cells: Cells;
}

/** Metrics of a cell: the process's registry for a single cell, else a registry of its own with the label `cell`. */
function registryOf(
  config: ServiceDeps["config"],
  shared: SharedParts,
  { cell, cells }: Place,
  pool: pg.Pool,
): Registry {
  const isOnly = cells.all().length === 1;
  const registry = isOnly ? shared.registry : new Registry();
  if (!isOnly) registry.setDefaultLabels({ cell: String(cell.number) });
  if (cell.route !== undefined) registerPlaceMetric(registry, () => cell.route!.place());
  registerDatabaseMetrics(registry, pool);
  registerMailboxMetrics(registry, pool, config.mailboxRetentionMs);
  return registry;
}

function refusalLog(log: Log): (error: unknown) => void {
  return (error) => log.error({ err: error }, `items are refused: ${awayText[awayReason(error) ?? "away"]}`);
}

/**
 * Replaces the functions whose caller does not know the cell by ones that work across all cells: the reach of limited keys, push
 * notifications of agents, and whether items are accepted at all.
 */
export function acrossCells(
  parts: readonly CellParts[],
  cells: Cells,
): (CellParts & Pick<ReadinessDeps, "apart">)[] {
  if (parts.length === 1) return [...parts];
  const reach: CellParts["reach"] = (orgId, scope, thing) =>
    parts[cells.ofOrg(orgId).number]!.reach(orgId, scope, thing);
  const [first, ...others] = parts.map((part) => ({ ...part, reach }));
  const handoffs = {
    ...first!.handoffs,
    // Only one cell has the item that the token names; to the others the token looks like that of an ended item.
    async notified(token: string): Promise<boolean> {
      const known = await Promise.all(parts.map((part) => part.handoffs.notified(token)));
      return known.includes(true);
    },
  };
  const intake = {
    ...first!.intake,
    trouble: () => parts.map((part) => part.intake.trouble()).find((trouble) => trouble !== undefined),
    forgetTrouble() {
      for (const part of parts) part.intake.forgetTrouble();
    },
  };
  const apart = (): Apart[] =>
    parts.flatMap(({ cell, direct, intake: its }) => {
      const place = cell.route?.place();
      return place ? [{ name: `cell ${cell.number} on ${place.server}`, pool: direct, intake: its }] : [];
    });
  return [{ ...first!, handoffs, intake, apart }, ...others];
}
