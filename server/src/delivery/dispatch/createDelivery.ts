import type pg from "pg";
import type { Registry } from "prom-client";
import type { Config } from "../../config/config.ts";
import type { Changes } from "../../items/changes.ts";
import { nodeOf } from "../../items/item.ts";
import type { SecretBox } from "../../items/secretBox.ts";
import type { Quiet } from "../../runtime/quiet.ts";
import type { Senders } from "../../targets/record/kind.ts";
import { createDeliveryMetrics } from "../../telemetry/deliveryMetrics.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Traces } from "../../telemetry/traces.ts";
import { createAttemptRecorder } from "../attempt/recordAttempts.ts";
import { createAttemptReport } from "../attempt/reportAttempt.ts";
import { createOpenCircuits } from "../rows/openCircuits.ts";
import type { Admission } from "./admission.ts";
import { Dispatcher } from "./dispatcher.ts";

export interface DeliveryDeps {
  config: Pick<Config, "deliveryTimeoutMs" | "maxInFlight" | "roles" | "targetConcurrency">;
  pool: pg.Pool;
  /** Pool of direct connections to the server that holds the cell. */
  direct: pg.Pool;
  box: SecretBox;
  log: Log;
  changes: Changes;
  traces?: Traces | undefined;
  registry: Registry;
  nowMs: () => number;
  senders: Senders;
  quiet: Quiet;
  /** Creates lease tokens; see `createLeaseTokens`. */
  newToken: () => number;
  /** Shared by the cells of a process. If absent, the dispatcher creates its own. */
  admission?: Admission | undefined;
}

export function createDelivery(deps: DeliveryDeps): Dispatcher {
  const { config, pool: control, direct: pool, log, registry } = deps;
  const metrics = createDeliveryMetrics(registry, {
    inFlight: () => dispatcher.inFlight(),
    inFlightUnproven: () => dispatcher.inFlightUnproven(),
    inMemory: () => dispatcher.inMemory(),
    openCircuits: () => dispatcher.openCircuits(),
  });
  const nodeId = nodeOf(deps.newToken());
  const dispatcher: Dispatcher = new Dispatcher({
    ...deps,
    pool,
    control,
    metrics,
    recorder: createAttemptRecorder(pool, log, createAttemptReport(metrics, log, deps.changes)),
    random: Math.random,
    circuits: createOpenCircuits({ pool, log, changes: deps.changes, nodeId }),
    enabled: config.roles.has("dispatcher"),
    timeoutMs: config.deliveryTimeoutMs,
    targetConcurrency: config.targetConcurrency,
    maxInFlight: config.maxInFlight,
    nodeId,
  });
  return dispatcher;
}
