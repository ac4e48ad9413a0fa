import type pg from "pg";
import type { SecretBox } from "../../items/secretBox.ts";
import type { Log } from "../../telemetry/log.ts";
import type { DeliveryMetrics } from "../../telemetry/deliveryMetrics.ts";
import type { Traces } from "../../telemetry/traces.ts";
import type { Senders } from "../attempt/attempt.ts";
import type { AttemptRecorder } from "../attempt/recordAttempts.ts";
import type { Finisher } from "../attempt/finishAttempt.ts";
import type { Admission } from "./admission.ts";
import type { OpenCircuits } from "./openCircuits.ts";

/** What a dispatcher stands on. */
export interface DispatcherDeps {
  pool: pg.Pool;
  box: SecretBox;
  log: Log;
  metrics: DeliveryMetrics;
  traces?: Traces | undefined;
  recorder: AttemptRecorder;
  finisher: Finisher;
  senders: Senders;
  /** Whether this process dispatches at all; when not, everything is left to the nodes that do. */
  enabled: boolean;
  timeoutMs: number;
  /** Requests under way to one target. */
  targetConcurrency: number;
  /** Requests under way in all. */
  maxInFlight: number;
  /** What decides and counts them, where dispatchers of several cells have one between them. */
  admission?: Admission | undefined;
  /** Names this dispatcher among all that share the database, as an id. */
  nodeId: string;
  /** A whole random number below 2^53, for lease tokens. */
  newToken: () => number;
  /** Told when circuits open and close. */
  circuits: OpenCircuits;
}
