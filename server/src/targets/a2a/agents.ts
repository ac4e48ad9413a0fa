import type { Queries } from "../../postgres/tables.ts";
import type { RefreshedBy, RefreshOutcome } from "../record/kind.ts";
import type { Refused } from "../record/refusal.ts";
import type { CreationSteps, Decision, StoredTarget, TargetKey } from "../record/store.ts";
import type { AgentAuth } from "./agentAuth.ts";

/** An a2a target's agent as it is answered, besides the target's own fields. */
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
  auth: AgentAuth | undefined;
  /** The origin that the credential may go to, when it is not the card's own. */
  confirmOrigin: string | undefined;
  resultTargetId: string | null | undefined;
}

/** The agents behind targets of kind `a2a`: their cards, credentials and result targets; implemented by `handoff/`. */
export interface Agents {
  /** Reads the agent card before anything is stored, because no transaction is open across an outbound request. */
  prepare(
    input: AgentChanges & { agentCardUrl: string; auth: AgentAuth },
    target: TargetKey,
  ): Promise<PreparedAgent | Refused>;
  /** Reads the card again and stores its interface, the target's `url` included; a card that is no good changes nothing. */
  refresh(targetId: string, by: RefreshedBy): Promise<RefreshOutcome>;
  /** Decides about a change of the agent, in the transaction that has locked its target. */
  decide(
    transaction: Queries,
    target: StoredTarget & TargetKey,
    changes: AgentChanges,
  ): Promise<Decision | Refused>;
  /** The agents of those of these targets that have one, by the targets' ids. */
  describe(targetIds: readonly string[]): Promise<Map<string, AgentView>>;
}

export interface PreparedAgent extends CreationSteps {
  ok: true;
  /** The agent's interface, which becomes the target's `url`. */
  url: string;
}
