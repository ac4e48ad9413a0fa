import { randomInt } from "node:crypto";
import type pg from "pg";
import type { Registry } from "prom-client";
import type { Config } from "../config/config.ts";
import type { Queries } from "../postgres/tables.ts";
import type { AttemptResult, Delivery } from "../items/delivery.ts";
import type { TargetConfig } from "../targets/record/targetConfig.ts";
import type { ParsedNetworks } from "../outbound/addressGuard.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { Agents as TargetAgents } from "../targets/a2a/agents.ts";
import type { Changes } from "../items/changes.ts";
import type { SecretBox } from "../items/secretBox.ts";
import type { Quiet } from "../runtime/quiet.ts";
import { createHandoffMetrics } from "../telemetry/deliveryMetrics.ts";
import type { Log } from "../telemetry/log.ts";
import type { Traces } from "../telemetry/traces.ts";
import { createAgents } from "./agent/agent.ts";
import { createAgentTargets } from "./agentTargets.ts";
import { Follower } from "./follow/follower.ts";
import { notificationKey, notificationUrl, readNotificationToken } from "./follow/notifications.ts";
import { hastenPoll } from "./follow/pollStore.ts";
import { createCardRereader, refreshDueCards } from "./card/refreshCard.ts";
import { sendHandoff } from "./send/sendHandoff.ts";
import { answerTask, type CancelOutcome, cancelTask, type SteerOutcome } from "./follow/steerTask.ts";

export interface HandoffsDeps {
  config: Config;
  pool: pg.Pool;
  queries: Queries;
  box: SecretBox;
  encryptionKey: Buffer;
  outbound: Outbound;
  networks: ParsedNetworks;
  log: Log;
  registry: Registry;
  changes: Changes;
  traces?: Traces | undefined;
  nowMs: () => number;
  /** Ended by tasks that are due. */
  quiet: Quiet;
  /** Tells the local dispatcher that something became due. */
  onDue: () => void;
  /** Wakes consumers that wait for messages of these mailboxes. */
  onMailboxItems: (mailboxIds: string[]) => void;
}

/** The part of a process that talks to agents. */
export interface Handoffs {
  /** The agents behind a2a targets. */
  agents: TargetAgents;
  /** Makes one attempt at a delivery to an a2a target. */
  send(delivery: Delivery, target: TargetConfig): Promise<AttemptResult>;
  answer(input: {
    orgId: string;
    eventId: string;
    payload: Buffer;
    key: string | null;
  }): Promise<SteerOutcome>;
  cancel(input: { orgId: string; eventId: string }): Promise<CancelOutcome>;
  /** Takes an agent's notification of a change; false for a token that the service did not make. */
  notified(token: string): Promise<boolean>;
  /** Reads the cards again that are due. */
  refreshDueCards(): Promise<{ cards: number; failed: number }>;
  /** Starts to follow tasks, where the process has the role dispatcher. */
  start(): void;
  /** Resolves when the requests under way have ended. */
  stop(): Promise<void>;
}

/** The parts of handoffs, put together for one process. */
export function createHandoffs(deps: HandoffsDeps): Handoffs {
  const { config, pool, box, registry } = deps;
  const key = notificationKey(deps.encryptionKey);
  const agents = createAgents(pool, box);
  const rereadCard = createCardRereader(deps);
  const quietMs = config.handoffDeadlineSeconds * 1000;
  const { publicUrl } = config;
  const sendDeps = {
    ...deps,
    agents,
    rereadCard,
    quietMs,
    timeoutMs: config.deliveryTimeoutMs,
    notificationUrl:
      publicUrl === undefined ? null : (eventId: string) => notificationUrl(publicUrl, key, eventId),
  };
  const followDeps = { ...deps, agents, rereadCard, quietMs, random: Math.random };
  const follower = new Follower({
    ...followDeps,
    metrics: createHandoffMetrics(registry),
    newToken: () => randomInt(2 ** 47),
  });
  let isStopping = false;
  const isFollowing = config.roles.has("dispatcher");
  return {
    agents: createAgentTargets(deps),
    send: (delivery, target) => sendHandoff(sendDeps, delivery, target),
    answer: (input) => answerTask(followDeps, input),
    cancel: (input) => cancelTask(followDeps, input),
    async notified(token) {
      const eventId = readNotificationToken(key, token);
      if (eventId === undefined) return false;
      if (await hastenPoll(pool, eventId)) follower.wake();
      return true;
    },
    refreshDueCards: () => refreshDueCards(deps, () => isStopping),
    start() {
      if (isFollowing) follower.start();
    },
    stop() {
      isStopping = true;
      return follower.stop();
    },
  };
}
