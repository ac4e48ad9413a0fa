import type { Queries } from "../db/tables.ts";
import { ApiError } from "../http/errors.ts";

/** How the service proves itself to an agent. */
export type HandoffAuth = { type: "none" } | { type: "bearer"; token: string };

/** What targets of kind `a2a` need beyond a row of `targets`; implemented by `handoff/`. */
export interface HandoffTargets {
  /**
   * Reads the agent card before anything is stored, because no transaction is open across an outbound request.
   * @throws {ApiError} 400 that says what is wrong with the card or its address.
   */
  prepare: (input: { agentCardUrl: string; auth: HandoffAuth }) => Promise<PreparedHandoff>;
  /**
   * Reads the card again and stores its interface, the row's `url` included.
   * @throws {ApiError} when the card is refused; what was stored before stays.
   */
  refresh: (targetId: string) => Promise<void>;
}

export interface PreparedHandoff {
  /** The agent's interface, which becomes the target's `url`. */
  url: string;
  /** Stores card and bearer for the target, in the transaction that makes it. */
  save: (transaction: Queries, targetId: string) => Promise<void>;
}

/** @throws {ApiError} 503 in a process that was started without the part that talks to agents. */
export function handoffTargets(deps: { handoffTargets?: HandoffTargets }): HandoffTargets {
  if (deps.handoffTargets === undefined) throw new ApiError(503, "this process does not serve a2a targets");
  return deps.handoffTargets;
}
