import { randomInt } from "node:crypto";
import type pg from "pg";
import type { Registry } from "prom-client";
import type { Config } from "../config.ts";
import type { Outbound } from "../net/outbound.ts";
import type { SecretBox } from "../targets/secretBox.ts";
import { createDeliveryMetrics } from "../telemetry/deliveryMetrics.ts";
import type { Log } from "../telemetry/log.ts";
import type { AttemptResult, Delivery } from "./delivery.ts";
import { Dispatcher } from "./dispatcher.ts";
import { createAttemptRecorder } from "./recordAttempts.ts";
import { createAttemptReport } from "./reportAttempt.ts";
import { sendWebhook } from "./sendWebhook.ts";
import { createSettler } from "./settleAttempt.ts";
import type { TargetConfig } from "./targetConfig.ts";

export interface DeliveryDeps {
  config: Config;
  pool: pg.Pool;
  box: SecretBox;
  outbound: Outbound;
  log: Log;
  registry: Registry;
  nowMs: () => number;
  /** How a delivery to an agent is attempted. */
  sendHandoff: (delivery: Delivery, target: TargetConfig) => Promise<AttemptResult>;
}

/** The parts of delivery, put together for one process. */
export function createDelivery(deps: DeliveryDeps): Dispatcher {
  const { config, pool, box, outbound, log, registry, nowMs } = deps;
  const metrics = createDeliveryMetrics(registry, {
    inFlight: () => dispatcher.inFlight(),
    inMemory: () => dispatcher.inMemory(),
    openCircuits: () => dispatcher.openCircuits(),
  });
  const recorder = createAttemptRecorder(pool, log, createAttemptReport(metrics, log));
  const sendDeps = { outbound, timeoutMs: config.deliveryTimeoutMs, nowMs };
  const dispatcher: Dispatcher = new Dispatcher({
    pool,
    box,
    log,
    metrics,
    recorder,
    settler: createSettler({ pool, log, recorder, nowMs, random: Math.random }),
    senders: {
      1: (delivery, target, ended) => sendWebhook(sendDeps, delivery, target, ended),
      3: (delivery, target, ended) => deps.sendHandoff(delivery, target).then(ended),
    },
    enabled: config.roles.has("dispatcher"),
    timeoutMs: config.deliveryTimeoutMs,
    targetConcurrency: config.targetConcurrency,
    maxInFlight: config.maxInFlight,
    newToken: () => randomInt(2 ** 47),
  });
  return dispatcher;
}
