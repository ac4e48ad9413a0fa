import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { Registry } from "prom-client";
import { createKeyOwners } from "../accounts/keyOwners.ts";
import { createKeyUsage, type KeyUsage } from "../accounts/keyUsage.ts";
import { createPasswords } from "../accounts/passwords.ts";
import { createReach } from "../accounts/scopeReach.ts";
import { createApp } from "../app.ts";
import { type BillingWorker, startBillingWorker } from "../billing/worker.ts";
import { type Config, mailboxRetentionMs } from "../config/config.ts";
import type { DatabaseConnection } from "../postgres/pool.ts";
import type { ProcessRecord } from "../postgres/processes.ts";
import { limitQueries } from "../postgres/hot/queryLimit.ts";
import { awayReason, awayText } from "../postgres/awayReason.ts";
import { createQueries } from "../postgres/tables.ts";
import { connectOutbound } from "../outbound/connectOutbound.ts";
import { createDelivery } from "../delivery/dispatch/createDelivery.ts";
import type { Dispatcher } from "../delivery/dispatch/dispatcher.ts";
import { createHelper, type Helper } from "../delivery/second-thread/helpingThread.ts";
import { createHandoffs, type Handoffs } from "../handoff/handoffs.ts";
import { closeServer } from "../http/closeServer.ts";
import type { ItemSink } from "../intake/handOn.ts";
import { createFilterGate } from "../filters/filterGate.ts";
import { KnownFilters } from "../filters/knownFilters.ts";
import { createIntake } from "../intake/intake.ts";
import { createPublisher } from "../publications/publisher.ts";
import { createMailboxes, type Mailboxes } from "../mailbox/mailboxes.ts";
import { createConsumerTraces } from "../mailbox/traceConsumers.ts";
import { startMaintenance } from "./chores.ts";
import { createGivenUpRelay } from "../mcp/givenUpRelay.ts";
import { createReplayWorker } from "../replays/worker.ts";
import { createStreams, type Streams } from "../stream/streams.ts";
import { parseNetworks } from "../outbound/addressGuard.ts";
import { createPresence, type Presence } from "./presence.ts";
import { createSecretBox } from "../items/secretBox.ts";
import { registerDatabaseMetrics } from "../telemetry/databaseMetrics.ts";
import { registerMailboxMetrics } from "../mailbox/view/mailboxMetrics.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { telemetryChoice } from "../telemetry/telemetryChoice.ts";
import { metricsText, metricValues } from "../telemetry/metricsText.ts";
import { createRequestMetrics } from "../telemetry/requestMetrics.ts";
import { withTryout } from "../tryout/receiver.ts";
import { connectionLimitOf } from "./descriptorLimit.ts";
import { registerLoadMetrics } from "../telemetry/loadMetrics.ts";
import { registerProcessMetrics } from "../telemetry/processMetrics.ts";
import { version } from "../config/version.ts";

export interface ServiceDeps {
  config: Config;
  /** A pool whose database has the current schema. */
  pool: pg.Pool;
  /** Where the pool's database is, for a thread that helps; absent when none is to. */
  connection?: DatabaseConnection;
  encryptionKey: Buffer;
  /** This process, as the database has it. */
  process?: ProcessRecord | undefined;
  log: Log;
  /** What is exported by OpenTelemetry; absent when nothing is. */
  telemetry?: Telemetry | undefined;
  nowMs?: () => number;
}

/** Everything one process does, wired and not yet listening. */
export interface Service {
  app: FastifyInstance;
  mailboxes: Mailboxes;
  handoffs: Handoffs;
  /** Resolves with the reason once the process cannot go on; it is to be stopped then. */
  overtaken: Promise<string>;
  /** Starts dispatch and maintenance, as the roles say. */
  start(): void;
  /** Takes no more, finishes what is under way and gives the rest back. The pool stays open. */
  stop(): Promise<void>;
}

type Parts = ReturnType<typeof assembleParts>;
type Foundation = ReturnType<typeof layFoundation>;

/**
 * Wires the parts together: what each part needs is spelled out here and nowhere else.
 * @param requestPool for what a caller waits for; work in the background has the pool's own patience.
 */
function assembleParts(deps: ServiceDeps, requestPool: pg.Pool) {
  const { config, log } = deps;
  const foundation = layFoundation(deps, requestPool);
  const helper = createHelperFor(deps, foundation.streams);
  // The dispatcher and handoffs call each other, as do handoffs and mailboxes, once all are there.
  const handoffs = createHandoffs({
    ...common(deps, foundation),
    queries: foundation.queries,
    encryptionKey: deps.encryptionKey,
    networks: foundation.networks,
    onDue: () => dispatcher.onDue(),
    onMailboxItems: (mailboxIds) => mailboxes.onMailboxItems(mailboxIds),
  });
  const dispatcher: Dispatcher = createDelivery({
    ...common(deps, foundation),
    sendHandoff: (delivery, target) => handoffs.send(delivery, target),
    ...(helper && { helper }),
  });
  const mailboxes: Mailboxes = createMailboxes({
    pool: requestPool,
    log,
    ownerOf: foundation.ownerOf,
    retentionMs: mailboxRetentionMs(config),
    changes: foundation.changes,
    onKeyUsed: (key) => foundation.keyUsage.noteKey(key),
  });
  const sink = itemSink({ ...foundation, dispatcher, mailboxes, log });
  const limits = {
    maxQueuedBytes: config.bodyMemoryBytes,
    ownerOf: foundation.ownerOf,
    filters: new KnownFilters(),
  };
  const intake = createIntake(foundation.pool, sink, limits);
  const publisher = createPublisher(foundation.pool, sink, limits);
  const { traces } = foundation;
  const givenUp = createGivenUpRelay({ pool: deps.pool, log });
  const consumerTraces = traces && createConsumerTraces(requestPool, traces);
  return {
    ...foundation,
    handoffs,
    dispatcher,
    helper,
    mailboxes,
    givenUp,
    consumerTraces,
    intake,
    publisher,
  };
}

/** What the parts that see items through stand on: the database, the outbound client, keys and streams. */
function layFoundation(deps: ServiceDeps, requestPool: pg.Pool) {
  const { config, pool, encryptionKey, log, nowMs = Date.now } = deps;
  const networks = parseNetworks(config.allowedNetworks);
  const streams = createStreams({ pool, log, nowMs });
  const keyOwners = createKeyOwners(pool);
  const box = createSecretBox({ current: encryptionKey, previous: config.previousEncryptionKeys });
  return {
    pool: requestPool,
    queries: createQueries(requestPool),
    registry: createRegistry(requestPool, config),
    networks,
    outbound: withTryout(connectOutbound(config, networks), { pool, box, log, nowMs }),
    box,
    keyUsage: createKeyUsage(pool, log),
    keyOwners,
    // An unknown key stands for itself: it is looked up before anything of it waits in a queue.
    ownerOf: (key: string): string => keyOwners.known(key)?.orgId ?? key,
    streams,
    changes: streams.changes,
    traces: deps.telemetry?.traces,
  };
}

/** What delivery and handoffs both take. */
function common(deps: ServiceDeps, { box, outbound, registry, changes, traces }: Foundation) {
  const { config, pool, log, nowMs = Date.now } = deps;
  return { config, pool, log, nowMs, box, outbound, registry, changes, traces };
}

function refusalLog(log: Log): (error: unknown) => void {
  return (error) => log.error({ err: error }, `items are refused: ${awayText[awayReason(error) ?? "away"]}`);
}

interface SinkParts {
  dispatcher: Dispatcher;
  mailboxes: Mailboxes;
  keyUsage: KeyUsage;
  changes: Streams["changes"];
  log: Log;
}

/** Where accepted items go on from. */
function itemSink({ dispatcher, mailboxes, keyUsage, changes, log }: SinkParts): ItemSink {
  return {
    hasRoom: (targetId) => dispatcher.hasRoom(targetId),
    fullTargets: () => dispatcher.fullTargets(),
    newLease: () => dispatcher.newLease(),
    take: (item, acceptance) => dispatcher.take(item, acceptance),
    onDue: (targetId) => dispatcher.onDue(targetId),
    onMailboxItems: (mailboxIds) => mailboxes.onMailboxItems(mailboxIds),
    changes,
    onRefused: refusalLog(log),
    onKeyUsed: (key) => keyUsage.noteKey(key),
  };
}

function createRegistry(pool: pg.Pool, config: Config): Registry {
  const registry = new Registry();
  registerProcessMetrics(registry);
  registerDatabaseMetrics(registry, pool);
  registerMailboxMetrics(registry, pool, mailboxRetentionMs(config));
  return registry;
}

/** The thread that helps with backlogs, where there is a core for it. */
function createHelperFor(
  { config, connection, encryptionKey, log }: ServiceDeps,
  { changes, watchedFlag }: Streams,
): Helper | undefined {
  const threads = config.sendingThreads === "auto" ? availableParallelism() : Number(config.sendingThreads);
  if (connection === undefined || threads < 2 || !config.roles.has("dispatcher")) return undefined;
  const { allowHttpTargets, allowedNetworks, connectTimeoutMs, deliveryTimeoutMs } = config;
  const { fastOutbound, fastSql, logLevel, maxInFlight, roles, targetConcurrency, previousEncryptionKeys } =
    config;
  return createHelper(
    {
      connection,
      encryptionKey,
      previousEncryptionKeys,
      watchedFlag,
      telemetry: { ...telemetryChoice(config), metrics: null, problems: [] },
      config: {
        allowHttpTargets,
        allowedNetworks,
        connectTimeoutMs,
        deliveryTimeoutMs,
        fastOutbound,
        fastSql,
        logLevel,
        maxInFlight,
        roles,
        targetConcurrency,
      },
    },
    { log, changes },
  );
}

/** Puts a process together: the parts, the interface in front of them, and the order in which they start and stop. */
export function createService(deps: ServiceDeps): Service {
  const { config, pool, log, nowMs = Date.now } = deps;
  const parts = assembleParts(deps, limitQueries(pool, config.databaseTimeoutMs));
  const { changes, dispatcher, handoffs, mailboxes } = parts;
  const onDue = (): void => dispatcher.onDue();
  const presence: Presence = createPresence(deps);
  const replays = createReplayWorker({
    ...common(deps, parts),
    queries: createQueries(pool),
    mailboxes,
    onDue,
  });
  let isStopping = false;
  let maintenance: { stop(): Promise<void> } | undefined;
  let billing: BillingWorker | undefined;
  const app = createApp({
    ...parts,
    filterGate: createFilterGate(pool),
    config,
    log,
    nowMs,
    randomBytes,
    reach: createReach(parts.pool),
    version,
    passwords: createPasswords(),
    metrics: createRequestMetrics(parts.registry),
    metricsText: countedBy(parts, deps.telemetry),
    onKeyUsed: (keyId) => parts.keyUsage.note(keyId),
    onDue,
    onReplay: () => replays.wake(),
    onBillingEvent: () => billing?.wake(),
    whyOvertaken: () => presence.whyOvertaken(),
    isStopping: () => isStopping,
    metricsToken: config.metricsToken,
    maxConnections: connectionLimitOf(config.maxConnections, config),
  });
  registerLoadMetrics(parts.registry, {
    connections: () => app.connectionLimit.count(),
    bodyBytes: () => app.bodyRoom.heldBytes(),
    waitingItems: () => parts.intake.waiting(),
  });
  return {
    app,
    mailboxes,
    handoffs,
    overtaken: presence.overtaken,
    start() {
      presence.start();
      dispatcher.start();
      handoffs.start();
      parts.streams.start();
      if (config.roles.has("api")) mailboxes.start();
      if (!config.roles.has("maintenance")) return;
      replays.start();
      maintenance = startMaintenance({ config, pool, log, nowMs, handoffs, mailboxes, changes, onDue });
      billing = startBillingWorker({ config, pool, log, nowMs });
    },
    async stop() {
      isStopping = true;
      mailboxes.stopWaiting();
      await parts.streams.endAll();
      await closeServer(app);
      await replays.stop();
      await stopParts(parts, [presence, maintenance, billing]);
    },
  };
}

/** What both threads have counted, as `/metrics` says it; it is also exported, where that is asked for. */
function countedBy({ registry, helper }: Parts, telemetry: Telemetry | undefined): () => Promise<string> {
  const others = async () => (await helper?.metrics()) ?? [];
  telemetry?.exportMetrics(async () => metricValues(registry, await others()));
  return async () => metricsText(registry, await others());
}

/** In the order in which one part hands its work to the next. */
async function stopParts(parts: Parts, workers: ({ stop(): Promise<void> } | undefined)[]): Promise<void> {
  await Promise.all([parts.intake.drained(), parts.publisher.drained()]);
  await parts.mailboxes.stop();
  await Promise.all([
    parts.dispatcher.stop(),
    parts.helper?.stop(),
    parts.handoffs.stop(),
    ...workers.map((worker) => worker?.stop()),
  ]);
  parts.keyOwners.stop();
  await Promise.all([parts.streams.stop(), parts.givenUp.stop()]);
  await parts.keyUsage.stop();
  parts.outbound.close();
}
