import type { ServiceProcess } from "./serviceProcess.ts";
import type { Account, Answer } from "./testNode.ts";
import { until } from "./until.ts";

type Caller = Pick<ServiceProcess, "call">;
type Key = Pick<Account, "api_key">;

/** The handoff as its owner sees it. */
export interface HandoffView {
  task_id: string | null;
  context_id: string | null;
  state: string | null;
  status_message: string | null;
  status_parts: Record<string, unknown>[];
  artifacts: { name: string; parts: Record<string, unknown>[] }[];
  artifacts_truncated: boolean;
  outcome: string | null;
  error: string | null;
  possible_duplicate: boolean;
}

export interface HandedOver {
  event: { status: string; retry_count: number };
  delivery_attempts: { status_code: number; error: string | null; response_body: string | null }[];
  handoff: HandoffView | null;
}

/** Requests the creation of an a2a target; `fields` are named as in the interface. */
export function requestAgentTarget(
  service: Caller,
  account: Key,
  fields: Record<string, unknown>,
): Promise<Answer> {
  return service.call("POST", "/api/v1/targets", {
    key: account.api_key,
    body: { kind: "a2a", name: "agent", auth: { type: "none" }, ...fields },
  });
}

/** Creates an a2a target, and returns its id. */
export async function createAgentTarget(
  service: Caller,
  account: Key,
  agentCardUrl: string,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const answer = await requestAgentTarget(service, account, { agent_card_url: agentCardUrl, ...fields });
  if (answer.status !== 200) throw new Error(`target: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.id as string;
}

/** Reads an event of an a2a target with its attempts and its handoff. */
export async function readHandedOver(service: Caller, account: Key, id: string): Promise<HandedOver> {
  const answer = await service.call("GET", `/api/v1/events/${id}`, { key: account.api_key });
  if (answer.status !== 200) throw new Error(`event: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as HandedOver;
}

/** Waits until `isWanted` accepts an event. */
export function untilHandedOver(
  service: Caller,
  account: Key,
  id: string,
  isWanted: (seen: HandedOver) => boolean,
): Promise<HandedOver> {
  return until(() => readHandedOver(service, account, id), isWanted, 60_000);
}

/** Waits until an item was handed over and its task has ended, and both are recorded. */
export function untilEnded(
  service: Caller,
  account: Key,
  id: string,
  limitMs: number = 60_000,
): Promise<HandedOver & { handoff: HandoffView }> {
  const hasEnded = ({ event, handoff }: HandedOver): boolean =>
    event.status === "DELIVERED" && typeof handoff?.outcome === "string";
  return until(() => readHandedOver(service, account, id), hasEnded, limitMs) as Promise<
    HandedOver & { handoff: HandoffView }
  >;
}
