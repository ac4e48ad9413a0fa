import { createHmac, timingSafeEqual } from "node:crypto";
import type { Registry } from "prom-client";
import type { Delivery } from "../items/delivery.ts";
import type { TargetConfig } from "../targets/record/targetConfig.ts";
import type { Quiet } from "../runtime/quiet.ts";
import { createHandoffMetrics } from "../telemetry/deliveryMetrics.ts";
import { createAgents } from "./agent/agent.ts";
import { createAgentTargets } from "./agentTargets.ts";
import { Follower } from "./follow/follower.ts";
import { hastenPoll } from "./follow/pollStore.ts";
import { createCardRereader, refreshDueCards } from "./card/refreshCard.ts";
import { sendHandoff } from "./send/sendHandoff.ts";
import { answerTask, cancelTask } from "./follow/steerTask.ts";
import { isId } from "../postgres/ids.ts";
import type { Parts } from "../items/parts.ts";

export interface HandoffsDeps extends Omit<Parts, "cells" | "reads" | "randomBytes"> {
  encryptionKey: Buffer;
  registry: Registry;
  /** Quiet mode of the process; a due task ends it. */
  quiet: Quiet;
  /** Creates lease tokens; see `createLeaseTokens`. */
  newToken: () => number;
}

export type Handoffs = ReturnType<typeof createHandoffs>;

/** Creates the part of a process that communicates with agents. */
export function createHandoffs(deps: HandoffsDeps) {
  const { config, direct, box, registry } = deps;
  const key = notificationKey(deps.encryptionKey);
  // Agents may still use notification addresses from before the encryption key was changed.
  const keys = [key, ...config.previousEncryptionKeys.map(notificationKey)];
  const agents = createAgents(direct, box);
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
  const follower = new Follower({ ...followDeps, metrics: createHandoffMetrics(registry) });
  let isStopping = false;
  const isFollowing = config.roles.has("dispatcher");
  return {
    /** The agents behind a2a targets. */
    agents: createAgentTargets(deps),
    /** Makes one attempt at a delivery to an a2a target. */
    send: (delivery: Delivery, target: TargetConfig) => sendHandoff(sendDeps, delivery, target),
    answer: (input: Parameters<typeof answerTask>[1]) => answerTask(followDeps, input),
    cancel: (input: Parameters<typeof cancelTask>[1]) => cancelTask(followDeps, input),
    /** Handles an agent's notification of a change; returns false if the service did not create the token. */
    async notified(token: string): Promise<boolean> {
      const eventId = readNotificationToken(keys, token);
      if (eventId === undefined) return false;
      if (await hastenPoll(direct, eventId)) follower.wake();
      return true;
    },
    /** Reads the agent cards again that are due. */
    refreshDueCards: () => refreshDueCards(deps, () => isStopping),
    /** Starts to follow tasks if the process has the role dispatcher. */
    start(): void {
      if (isFollowing) follower.start();
    },
    /** Resolves when the running requests have ended. */
    stop(): Promise<void> {
      isStopping = true;
      return follower.stop();
    },
  };
}

const pathPrefix = "/a2a/notifications/";
const macLength = 43;

/**
 * Creates a token that names an event and has a MAC. Nothing must be stored, and a forged token never reaches the database. The
 * holder of a token can only cause an early poll of the task.
 */
export function notificationToken(key: Buffer, eventId: string): string {
  return eventId + macOf(key, eventId);
}

/** Returns the event of a token that was created with one of the keys; undefined for any other text. */
export function readNotificationToken(keys: readonly Buffer[], token: string): string | undefined {
  const eventId = token.slice(0, 32);
  const mac = token.slice(32);
  if (!isId(eventId) || !/^[A-Za-z0-9_-]{43}$/.test(mac)) return undefined;
  const isOurs = keys.some((key) => timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, eventId))));
  return isOurs ? eventId : undefined;
}

/** Derives the key of all notification tokens from the service's encryption key. */
export function notificationKey(encryptionKey: Buffer): Buffer {
  return createHmac("sha256", encryptionKey).update("a2a notifications").digest();
}

/** @param publicUrl The address at which agents reach the service. */
export function notificationUrl(publicUrl: string, key: Buffer, eventId: string): string {
  return publicUrl.replace(/\/+$/, "") + pathPrefix + notificationToken(key, eventId);
}

function macOf(key: Buffer, eventId: string): string {
  return createHmac("sha256", key).update(eventId).digest("base64url").slice(0, macLength);
}
