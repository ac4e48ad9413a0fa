import type { Insertable, Updateable } from "kysely";
import type { TProperties } from "typebox";
import type { Origin } from "../../audit/origin.ts";
import type { DeliveredKind, TargetKind } from "../../postgres/kinds.ts";
import type { Queries, TargetRow } from "../../postgres/tables.ts";
import type { Given } from "./fields.ts";
import type { Refused } from "./refusal.ts";
import type { CreationSteps, StoredTarget, TargetChange, TargetKey } from "./store.ts";
import type { Config } from "../../config/config.ts";
import type { Parts } from "../../items/parts.ts";
import type { AttemptResult, Delivery } from "../../items/delivery.ts";
import type { TargetConfig } from "./targetConfig.ts";

/**
 * All that one kind of target is, besides the traits of its items in `postgres/kinds.ts`: its fields, how it is made and
 * changed, its answer, its sender, and what can be done with it. `Created`, `Changed` and `Answered` are schemas by field; none of the
 * fields is required by its schema, because a body may be of any kind.
 */
export interface Kind<
  Deps,
  Created extends TProperties,
  Changed extends TProperties,
  Answered extends TProperties,
> {
  name: TargetKind;
  fields: {
    /** Fields of a creation that not every kind takes. */
    created: Created;
    /** Fields of a change that not every kind takes. */
    changed: Changed;
    /** Fields of the answer that not every kind has. */
    answered: Answered;
  };
  /** Checks the fields of a new target, and says what is stored of them. */
  create: (deps: Deps, input: Given<Created>, target: TargetKey) => Promise<Creation | Refused>;
  /** The same for a change. */
  change: (
    deps: Deps,
    changes: Given<Changed>,
    target: StoredTarget & TargetKey,
  ) => Promise<KindChange | Refused>;
  /** Checks names of event types against the organization's catalogue, where the kind has event types. */
  checkCatalogue?: (
    queries: Queries,
    orgId: string,
    eventTypes: readonly string[] | undefined,
    present?: StoredTarget,
  ) => Promise<Refused | undefined>;
  /** Ends what belongs to a target in other tables, in the transaction that removes it. */
  remove?: (transaction: Queries, targetId: string, nowSeconds: number) => Promise<void>;
  /** Its part of the target's answer. */
  answer: (target: StoredTarget) => object;
  /** The part of the targets' answers that is not in their own rows, by id. */
  describe?: (deps: Deps, targetIds: readonly string[]) => Promise<Map<string, object>>;
  /** Reads again what the target's owner publishes elsewhere, such as an agent card. */
  refresh?: (deps: Deps, targetId: string, by: RefreshedBy) => Promise<RefreshOutcome>;
  /** Makes the sender of its items; null where consumers claim them. */
  sender: ((deps: SendDeps) => Sender) | null;
  /** Whether its requests are signed with a secret, which can be rotated and revealed. */
  isSigned: boolean;
  /** Whether customers make, change and delete such targets in the portal. */
  isInPortal: boolean;
  /** Why a test cannot be sent; undefined when it can. */
  testFault?: string;
}

export interface Creation extends CreationSteps {
  ok: true;
  columns: Partial<Insertable<TargetRow>>;
  /** A secret that is shown this once. */
  secret?: string;
}

export interface KindChange {
  ok: true;
  columns?: Updateable<TargetRow>;
  decide?: TargetChange["decide"];
}

/** The caller of a refresh, and the owner's agreement. */
export interface RefreshedBy {
  origin: Origin;
  confirmOrigin?: string | undefined;
  confirmSignature?: string | undefined;
}

/** `problem` completes a sentence that begins with the name of what was read. */
export type RefreshOutcome =
  | { kind: "current" }
  /** The reading failed, or is no good; the last good one stays in use. */
  | { kind: "failed"; problem: string }
  /** It is good, and demands a credential that the target does not have. */
  | { kind: "unmet"; problem: string }
  /** It is good, and waits for the owner's consent. */
  | { kind: "held"; problem: string; code: "origin_unconfirmed" | "signature_unconfirmed" }
  | { kind: "gone" };

/** The parts of the process that targets need, whatever their kind. */
export interface TargetDeps extends Pick<
  Parts,
  "queries" | "reads" | "box" | "networks" | "changes" | "nowMs" | "randomBytes" | "onDue"
> {
  config: Pick<Config, "allowHttpTargets" | "maxBodyBytes">;
}

/**
 * Makes one attempt at a delivery and calls `ended` once, after it has returned; one that throws, or rejects before it
 * calls, has failed.
 */
export type Sender = (
  delivery: Delivery,
  target: TargetConfig,
  ended: (result: AttemptResult) => void,
) => Promise<void> | void;

/** The senders of the kinds whose items are delivered. */
export type Senders = Record<DeliveredKind, Sender>;

/** The parts of the process that senders need. */
export interface SendDeps extends Pick<Parts, "outbound" | "nowMs"> {
  /** The limit of one attempt, in milliseconds. */
  timeoutMs: number;
  /** Makes one attempt at handing an item to an agent. */
  sendHandoff: (delivery: Delivery, target: TargetConfig) => Promise<AttemptResult>;
}
