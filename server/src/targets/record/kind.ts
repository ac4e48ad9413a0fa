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
 * The definition of one kind of target: its fields, creation, change, answer, sender and abilities. The properties of its items
 * are in `postgres/kinds.ts`. `Created`, `Changed` and `Answered` are schemas by field. No schema requires its field, because
 * one body schema serves all kinds.
 */
export interface Kind<
  Deps,
  Created extends TProperties,
  Changed extends TProperties,
  Answered extends TProperties,
> {
  name: TargetKind;
  fields: {
    /** Fields of a creation that not every kind has. */
    created: Created;
    /** Fields of a change that not every kind has. */
    changed: Changed;
    /** Fields of the answer that not every kind has. */
    answered: Answered;
  };
  /** Checks the fields of a new target, and returns the columns to store. */
  create: (deps: Deps, input: Given<Created>, target: TargetKey) => Promise<Creation | Refused>;
  /** Checks the fields of a change, and returns the columns to store. */
  change: (
    deps: Deps,
    changes: Given<Changed>,
    target: StoredTarget & TargetKey,
  ) => Promise<KindChange | Refused>;
  /** Checks names of event types against the organization's catalogue; only for a kind that has event types. */
  checkCatalogue?: (
    queries: Queries,
    orgId: string,
    eventTypes: readonly string[] | undefined,
    present?: StoredTarget,
  ) => Promise<Refused | undefined>;
  /** Ends the target's rows in other tables, in the transaction that removes the target. */
  remove?: (transaction: Queries, targetId: string, nowSeconds: number) => Promise<void>;
  /** The kind's own fields of a target's answer. */
  answer: (target: StoredTarget) => object;
  /** Fields of the answers that are read from other tables, by target id. */
  describe?: (deps: Deps, targetIds: readonly string[]) => Promise<Map<string, object>>;
  /** Reads a document again that the target's owner publishes, such as an agent card. */
  refresh?: (deps: Deps, targetId: string, by: RefreshedBy) => Promise<RefreshOutcome>;
  /** Creates the sender of the kind's items; null if consumers claim them. */
  sender: ((deps: SendDeps) => Sender) | null;
  /** Whether requests are signed with a secret, which can be rotated and revealed. */
  isSigned: boolean;
  /** Whether customers can create, change and delete such targets in the portal. */
  isInPortal: boolean;
  /** Why a test cannot be sent; undefined when it can. */
  testFault?: string;
}

export interface Creation extends CreationSteps {
  ok: true;
  columns: Partial<Insertable<TargetRow>>;
  /** A secret that is shown only in the answer to the creation. */
  secret?: string;
}

export interface KindChange {
  ok: true;
  columns?: Updateable<TargetRow>;
  decide?: TargetChange["decide"];
}

/** The caller of a refresh, and the owner's consent. */
export interface RefreshedBy {
  origin: Origin;
  confirmOrigin?: string | undefined;
  confirmSignature?: string | undefined;
}

/** `problem` completes a sentence that begins with the name of the document that was read. */
export type RefreshOutcome =
  | { kind: "current" }
  /** The document could not be read or used. The last usable document stays in use. */
  | { kind: "failed"; problem: string }
  /** The document is usable, but demands a credential that the target does not have. */
  | { kind: "unmet"; problem: string }
  /** The document is usable, but needs the owner's consent. */
  | { kind: "held"; problem: string; code: "origin_unconfirmed" | "signature_unconfirmed" }
  | { kind: "gone" };

/** The parts of the process that targets of every kind need. */
export interface TargetDeps extends Pick<
  Parts,
  "queries" | "log" | "reads" | "box" | "networks" | "changes" | "nowMs" | "randomBytes" | "onDue"
> {
  config: Pick<Config, "allowHttpTargets" | "maxBodyBytes">;
}

/**
 * Makes one attempt at a delivery and calls `ended` once, after the sender has returned. If the sender throws, or rejects
 * before it calls `ended`, the attempt has failed.
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
  /** Makes one attempt to hand over an item to an agent. */
  sendHandoff: (delivery: Delivery, target: TargetConfig) => Promise<AttemptResult>;
}
