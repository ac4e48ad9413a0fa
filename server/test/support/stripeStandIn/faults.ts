import type { World } from "./world.ts";

/**
 * Faults of a request: `reset` breaks the connection before any work; `lose` does the work and breaks the connection before
 * the answer; `hang_before` and `hang_after` never answer; `error_before` and `error_after` answer 500; `limit` answers 429;
 * `slow` answers late. With `gateway_200` and `gateway_502` a gateway in front of the processor answers instead, with its own
 * JSON.
 */
export type FaultKind =
  | "reset"
  | "lose"
  | "hang_before"
  | "hang_after"
  | "error_before"
  | "error_after"
  | "limit"
  | "slow"
  | "gateway_200"
  | "gateway_502";

export interface Fault {
  /** Matched as a part of "METHOD /path". */
  match: string;
  kind: FaultKind;
  /** Number of requests that get the fault. */
  times: number;
}

/** Returns the fault for a request and reduces its count by one; undefined when the request has none. */
export function takeFault(world: World, request: string): FaultKind | undefined {
  const fault = world.faults.find(({ match, times }) => times > 0 && request.includes(match));
  if (fault === undefined) return undefined;
  fault.times--;
  return fault.kind;
}
