import type { Origin } from "../audit/origin.ts";
import type { Queries } from "../postgres/tables.ts";
import { ApiError } from "../http/contract/errors.ts";

/** How the service proves itself to an agent. */
export type HandoffAuth =
  | { type: "none" }
  | { type: "bearer"; token: string }
  /** A value in a header of the agent's choice. */
  | { type: "api_key"; header: string; value: string };

/** What an a2a target shows of its agent beside its own fields. */
export interface AgentView {
  agent_card_url: string;
  auth: { type: "bearer" | "none" } | { type: "api_key"; header: string };
  agent_name: string;
  agent_version: string;
  /** Unix seconds of the last reading that found a good card. */
  card_fetched_at: number;
  card_error: string | null;
  card_error_at: number | null;
  card_signature: "verified" | "unverified" | "invalid" | "none";
  card_signature_keys: string | null;
  card_signature_detail: string | null;
  offered_origin: string | null;
  result_target_id: string | null;
}

export interface AgentChanges {
  auth?: HandoffAuth | undefined;
  /** The origin that a bearer may go to, when it is not the card's own. */
  confirmOrigin?: string | undefined;
  resultTargetId?: string | null | undefined;
}

/** What targets of kind `a2a` need beyond a row of `targets`; implemented by `handoff/`. */
export interface HandoffTargets {
  /**
   * Reads the agent card before anything is stored, because no transaction is open across an outbound request.
   * @throws {ApiError} 400 that says what is wrong with the card or its address, 409 when the bearer would go to another
   * origin than the card's without the owner's consent.
   */
  prepare: (input: {
    agentCardUrl: string;
    auth: HandoffAuth;
    confirmOrigin: string | undefined;
    resultTargetId: string | null;
  }) => Promise<PreparedHandoff>;
  /**
   * Reads the card again and stores its interface, the row's `url` included.
   * @throws {ApiError} 502 when the card is not good, 409 when it needs the owner's consent; what was stored
   * before stays.
   */
  refresh: (
    targetId: string,
    by: {
      origin: Origin;
      confirmOrigin?: string | undefined;
      confirmSignature?: string | undefined;
    },
  ) => Promise<void>;
  /** Changes what belongs to the agent, in the transaction that changes the target. @throws {ApiError} 400, 409 */
  change: (
    transaction: Queries,
    target: { id: string; orgId: string; url: string },
    changes: AgentChanges,
  ) => Promise<void>;
  /** What the targets among these that are agents show, by their ids. */
  describe: (targetIds: readonly string[]) => Promise<Map<string, AgentView>>;
}

export interface PreparedHandoff {
  /** The agent's interface, which becomes the target's `url`. */
  url: string;
  /** Stores card and bearer for the target, in the transaction that makes it. */
  save: (transaction: Queries, target: { id: string; orgId: string }) => Promise<void>;
}

/** @throws {ApiError} 503 in a process that was started without the part that talks to agents. */
export function handoffTargets(deps: { handoffs?: { targets: HandoffTargets } }): HandoffTargets {
  if (deps.handoffs === undefined) throw new ApiError(503, "this process does not serve a2a targets");
  return deps.handoffs.targets;
}
