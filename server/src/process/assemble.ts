import type pg from "pg";
import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { createKeyOwners } from "../accounts/keyOwners.ts";
import { createKeyUsage } from "../accounts/keyUsage.ts";
import { createPasswords } from "../accounts/passwords.ts";
import { createApp } from "../app.ts";
import { type BillingWorker, startBillingWorker } from "../billing/worker.ts";
import type { Config } from "../config/config.ts";
import { version } from "../config/version.ts";
import { isDashboardBuilt } from "../http/dashboard.ts";
import { closeServer } from "../http/server.ts";
import { createLeaseTokens } from "../items/item.ts";
import { createSecretBox } from "../items/secretBox.ts";
import { createGivenUpRelay } from "../mcp/givenUpRelay.ts";
import { parseNetworks } from "../outbound/addressGuard.ts";
import { createMailer, type Mailer } from "../mail/mailer.ts";
import { connectOutbound } from "../outbound/outbound.ts";
import { Admission } from "../delivery/dispatch/admission.ts";
import { type Cells, oneCell, serversOf } from "../postgres/cells.ts";
import { followCells } from "../postgres/followCells.ts";
import { type ClockCheck, createClockCheck } from "../postgres/clock.ts";
import { limitQueries } from "../postgres/hot/queryLimit.ts";
import type { ProcessRecord } from "../postgres/processes.ts";
import { createQuiet } from "../runtime/quiet.ts";
import { createStreams, type Streams } from "../stream/streams.ts";
import { type MetricValues, sumOf } from "../telemetry/metricsText.ts";
import {
  gaugesOn,
  registerMailMetric,
  registerProcessMetrics,
  registerRoleMetric,
} from "../telemetry/processMetrics.ts";
import { createRequestMetrics, type RequestMetrics } from "../telemetry/requestMetrics.ts";
import type { Telemetry } from "../telemetry/traces.ts";
import { createTryoutReceiver } from "../tryout/receiver.ts";
import { acrossCells, assembleCell, type CellParts } from "./assembleCell.ts";
import { startMaintenance } from "./chores.ts";
import { connectionLimitOf } from "./descriptorLimit.ts";
import { createPresence } from "./presence.ts";
import type { Parts } from "../items/parts.ts";

export interface ServiceDeps extends Pick<Parts, "config" | "pool" | "log"> {
  /** The cells of the data plane; one cell on `pool` unless given. */
  cells?: Cells | undefined;
  encryptionKey: Buffer;
  /** This process's row in the table of processes. */
  process?: ProcessRecord | undefined;
  /** The OpenTelemetry export; absent when nothing is exported. */
  telemetry?: Telemetry | undefined;
  /**
   * Sends this process's metrics and returns those of the service's other processes, for `/metrics`; absent in a single process.
   */
  siblings?: ((own: MetricValues[]) => Promise<MetricValues[][]>) | undefined;
  nowMs?: () => number;
}

/** All parts of one process, assembled and not yet listening. */
export type Service = ReturnType<typeof createService>;

export type SharedParts = ReturnType<typeof createSharedParts>;

/** The parts that all cells share: the control plane's tables, the outbound client, keys and streams. */
function createSharedParts(deps: ServiceDeps) {
  const { config, pool, encryptionKey, log, telemetry, nowMs = Date.now, cells = oneCell(pool) } = deps;
  const networks = parseNetworks(config.allowedNetworks);
  const box = createSecretBox({ current: encryptionKey, previous: config.previousEncryptionKeys });
  let isAccompanied = false;
  const quiet = createQuiet({
    afterMs: isAlone(deps) ? quietAfterMs : Infinity,
    isWatched: () => isAccompanied || streams.hub.size() > 0,
  });
  const streams: Streams = createStreams({ pool, log, nowMs, quiet });
  const ofRequests = (any: pg.Pool): pg.Pool => limitQueries(any, config.databaseTimeoutMs);
  const requestPool = ofRequests(pool);
  const keyOwners = createKeyOwners(requestPool, () =>
    serversOf(cells).map(({ direct }) => ofRequests(direct)),
  );
  const registry = new Registry();
  registerProcessMetrics(registry);
  const clock = createClockCheck({ pool, nowMs, log });
  // Days past retention that are kept, by cell number.
  const heldDays = new Map<number, number>();
  addMaintenanceGauges(registry, clock, heldDays);
  return {
    registry,
    clock,
    quiet,
    // Only a process that may be quiet needs to know whether others use the database.
    onCompany: isAlone(deps) ? (is: boolean): void => void (isAccompanied = is) : undefined,
    requestPool,
    onRoles: registerRoleMetric(registry),
    onHeldDays: (cellNumber: number, days: number) => void heldDays.set(cellNumber, days),
    networks,
    leaseTokens: createLeaseTokens(),
    // With one cell, its dispatcher creates its own.
    admission: cells.all().length > 1 ? new Admission(config.maxInFlight) : undefined,
    following: followCells({ pool, cells, log }),
    outbound: connectOutbound(config, networks, createTryoutReceiver({ pool, cells, box, log, nowMs })),
    box,
    keyUsage: createKeyUsage(pool, log),
    mailer: mailerOf(deps, registry),
    keyOwners,
    // Owner of an API key, for fair queues. Keys are looked up before their work is queued; a key that is not cached counts as an
    // owner of its own.
    ownerOf: (key: string): string => keyOwners.known(key)?.orgId ?? key,
    streams,
    changes: streams.changes,
    traces: telemetry?.traces,
    givenUp: createGivenUpRelay({ pool, log }),
  };
}

/** A process is quiet when nothing has happened in it for this long. */
const quietAfterMs = 60_000;

/**
 * Whether the process does all the work that its requests cause: it has every role and no sibling processes. Any other process
 * finds its work by polling, and is never quiet. This one is not quiet either while other processes use the database: they may
 * lack a role, or die.
 */
function isAlone({ config: { roles }, siblings }: ServiceDeps): boolean {
  return siblings === undefined && roles.size === 3;
}

/** Routes that operators and load balancers poll; their requests do not end the quiet state. */
const probes: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

/** Counts requests; each one except probes ends the quiet state. */
function requestMetricsOf({ registry, quiet }: SharedParts): RequestMetrics {
  const metrics = createRequestMetrics(registry);
  return {
    observe(method, route, status, durationMs) {
      if (!probes.has(route)) quiet.note();
      metrics.observe(method, route, status, durationMs);
    },
  };
}

function mailerOf({ config: { mail }, log }: ServiceDeps, registry: Registry): Mailer | undefined {
  const count = registerMailMetric(registry);
  return mail && createMailer({ config: mail, log, count });
}

/** Gauges for the reasons why maintenance may delete nothing: see `docs/operations.md`. */
function addMaintenanceGauges(
  registry: Registry,
  clock: ClockCheck,
  heldDays: ReadonlyMap<number, number>,
): void {
  const gauge = gaugesOn(registry);
  gauge(
    "postrider_clock_skew_seconds",
    "By how much this process's clock is ahead of its database's; negative when it is behind.",
    () => clock.skewMs() / 1000,
    "max",
  );
  gauge(
    "postrider_retention_held_partitions",
    "Days past retention that are kept, because more than two would be dropped within 24 hours.",
    () => Math.max(0, ...heldDays.values()),
    "max",
  );
}

/** Gauges of connections, bodies and queued items, which have bounds: see `docs/operations.md`. */
function addLoadGauges(registry: Registry, app: FastifyInstance, parts: readonly CellParts[]): void {
  const gauge = gaugesOn(registry);
  const waiting = (what: "count" | "bytes"): number =>
    parts.reduce((sum, { intake }) => sum + intake.waiting()[what], 0);
  gauge("postrider_http_connections", "Connections of clients.", () => app.connectionLimit.count());
  gauge("postrider_http_body_bytes", "Bytes of bodies that arrive or whose request is in progress.", () =>
    app.bodyRoom.heldBytes(),
  );
  gauge("postrider_intake_waiting_items", "Items and publications that wait for their batch.", () =>
    waiting("count"),
  );
  gauge(
    "postrider_intake_waiting_bytes",
    "Bytes of items and publications that wait for their batch, and 128 for each item that a publication is likely to become.",
    () => waiting("bytes"),
  );
}

/**
 * Assembles a process: its parts, the interface in front of them, and the order in which they start and stop. The dependencies of
 * each part are passed here and in `assembleCell.ts`, and nowhere else.
 */
export function createService(deps: ServiceDeps) {
  const { config, pool, log, nowMs = Date.now, cells = oneCell(pool) } = deps;
  const shared = createSharedParts(deps);
  const parts = cells.all().map((cell) => assembleCell(deps, shared, { cell, cells }));
  const { clock, quiet, onCompany } = shared;
  const presence = createPresence({ ...deps, clock, quiet, onCompany });
  const counted = countedBy(shared, parts, deps.siblings);
  deps.telemetry?.exportMetrics(counted.values);
  let isStopping = false;
  let maintenance: { stop(): Promise<void> } | undefined;
  let billing: BillingWorker | undefined;
  const common = {
    ...shared,
    config,
    log,
    nowMs,
    randomBytes,
    version,
    passwords: createPasswords(),
    metrics: requestMetricsOf(shared),
    metricsText: counted.text,
    onKeyUsed: shared.keyUsage.note,
    onBillingEvent: () => billing?.wake(),
    whyOvertaken: () => presence.whyOvertaken(),
    isStopping: () => isStopping,
    metricsToken: config.metricsToken,
    maxConnections: connectionLimitOf(config.maxConnections, config),
  };
  const partsForApp = acrossCells(parts, cells).map((part) =>
    Object.assign({ onReplay: () => part.replays.wake() }, common, part),
  );
  const app = createApp(partsForApp, cells, shared.requestPool);
  addLoadGauges(shared.registry, app, parts);
  return {
    app,
    isDashboardBuilt: isDashboardBuilt(),
    /** The range of this process's lease tokens. */
    leases: shared.leaseTokens.range,
    mailboxes: {
      start: () => parts.forEach(({ mailboxes }) => mailboxes.start()),
      waiting: () => parts.reduce((sum, { mailboxes }) => sum + mailboxes.waiting(), 0),
    },
    handoffs: parts[0]!.handoffs,
    /** Resolves with the reason when the process cannot continue; the caller stops it then. */
    overtaken: presence.overtaken,
    /** The metrics of this process alone. */
    metricValues: counted.values,
    /** Compares this process's clock with the database's, before it serves. If the database is away, later checks repeat it. */
    checkClock: async () => void (await shared.clock.look().catch(() => undefined)),
    /** From now on connects directly to the cells' servers, if cells are on workers of Citus; resolves when these are known. */
    followCells: () => shared.following.look(),
    /** Starts the loops of the given roles; those of the configuration unless given. */
    start(roles = config.roles): void {
      shared.onRoles(roles);
      presence.start();
      shared.streams.start();
      for (const part of parts) startCell(part, roles);
      if (!roles.has("maintenance")) return;
      maintenance = startMaintenance({ ...shared, config, pool, log, nowMs, cells: parts });
      billing = startBillingWorker({ config, pool, cells, log, nowMs, clock });
    },
    /** Accepts no more requests, finishes the work in progress and releases other leases. The pools stay open. */
    async stop(): Promise<void> {
      isStopping = true;
      for (const { mailboxes } of parts) mailboxes.stopWaiting();
      await shared.streams.endAll();
      await closeServer(app);
      await Promise.all(parts.map(({ replays }) => replays.stop()));
      await stopParts(shared, parts, [presence, maintenance, billing]);
    },
  };
}

/** Starts the loops of a cell. Mailboxes start in every role: each process answers long polls, and has to wake them. */
function startCell({ dispatcher, handoffs, mailboxes, replays }: CellParts, roles: Config["roles"]): void {
  dispatcher.start();
  handoffs.start();
  mailboxes.start();
  if (roles.has("maintenance")) replays.start();
}

/** `values`: metrics of this process, all cells included. `text`: metrics of the whole service, as `/metrics` answers. */
function countedBy(
  { registry }: SharedParts,
  parts: readonly CellParts[],
  siblings: ServiceDeps["siblings"],
): { values: () => Promise<MetricValues[]>; text: () => Promise<string> } {
  const registries = [...new Set([registry, ...parts.map((part) => part.registry)])];
  const all = async (): Promise<Registry> =>
    registries.length === 1
      ? registry
      : sumOf(await Promise.all(registries.map((one) => one.getMetricsAsJSON())));
  const values = async () => (await all()).getMetricsAsJSON();
  return {
    values,
    async text() {
      if (siblings === undefined) return (await all()).metrics();
      const own = await values();
      return sumOf([own, ...(await siblings(own))]).metrics();
    },
  };
}

/** Stops the parts in the order in which work passes through them. */
async function stopParts(
  shared: SharedParts,
  parts: readonly CellParts[],
  workers: ({ stop(): Promise<void> } | undefined)[],
): Promise<void> {
  await Promise.all(parts.map(({ intake }) => intake.drained()));
  await Promise.all(parts.map(({ mailboxes }) => mailboxes.stop()));
  await Promise.all([
    ...parts.flatMap(({ dispatcher, handoffs }) => [dispatcher.stop(), handoffs.stop()]),
    shared.mailer?.stop(),
    ...workers.map((worker) => worker?.stop()),
  ]);
  shared.keyOwners.stop();
  await shared.following.stop();
  await Promise.all([shared.streams.stop(), shared.givenUp.stop()]);
  await shared.keyUsage.stop();
  shared.outbound.close();
}
