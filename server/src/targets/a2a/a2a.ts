import { Type } from "typebox";
import { nullable } from "../../http/contract/schemas.ts";
import { textOf } from "../../http/contract/textForms.ts";
import type { Creation, Kind, KindChange, TargetDeps } from "../record/kind.ts";
import {
  deliveryAnswer,
  deliveryFields,
  deliveryValues,
  discardHeld,
  type Given,
  Url,
} from "../record/fields.ts";
import { invalid, type Refused } from "../record/refusal.ts";
import type { TargetKey } from "../record/store.ts";
import { agentAnswer, type Agents, Auth, readAuth } from "./agents.ts";

/** The parts of the process that targets of kind `a2a` need. */
export interface AgentDeps extends TargetDeps {
  handoffs: { agents: Agents };
}

const confirmedOrigin =
  "confirms the origin that it may be sent to, if the agent's interface has another origin than its card";

const agentFields = {
  confirm_origin: Type.String({
    maxLength: 2048,
    description: `With a bearer token or an API key: ${confirmedOrigin}`,
  }),
  auth: Auth,
  result_target_id: nullable(
    textOf("id"),
    "A mailbox or webhook target that receives each task's result as an item; null for none",
  ),
};

const fields = {
  created: { agent_card_url: Url, ...agentFields, ...deliveryFields },
  changed: { ...agentFields, discard_held: discardHeld, ...deliveryFields },
  answered: { ...deliveryAnswer, ...agentAnswer },
};

/** The kind `a2a`: an agent with an A2A card. An item becomes a task of the agent, which is polled until it ends. */
export const a2a: Kind<AgentDeps, typeof fields.created, typeof fields.changed, typeof fields.answered> = {
  name: "a2a",
  fields,
  create,
  change,
  answer: deliveryValues,
  describe: ({ handoffs: { agents } }, targetIds) => agents.describe(targetIds),
  refresh: ({ handoffs: { agents } }, targetId, by) => agents.refresh(targetId, by),
  sender: ({ sendHandoff }) => {
    return (delivery, target, ended) => sendHandoff(delivery, target).then(ended);
  },
  isSigned: false,
  isInPortal: false,
  testFault: "a test would start a task of the agent; refresh the target to check its card",
};

async function create(
  { handoffs: { agents } }: AgentDeps,
  { agent_card_url: agentCardUrl, confirm_origin: confirmOrigin, ...input }: Given<typeof fields.created>,
  target: TargetKey,
): Promise<Creation | Refused> {
  if (agentCardUrl === undefined) return invalid("agent_card_url is required for an a2a target");
  const reading = readAuth(input.auth, confirmOrigin);
  if (!reading.ok) return invalid(reading.message);
  const auth = reading.value;
  const { result_target_id: resultTargetId = null } = input;
  const prepared = await agents.prepare({ agentCardUrl, auth, confirmOrigin, resultTargetId }, target);
  if (!prepared.ok) return prepared;
  const { url, ...steps } = prepared;
  return { ...steps, columns: { url } };
}

async function change(
  { handoffs: { agents } }: AgentDeps,
  { auth, confirm_origin: confirmOrigin, result_target_id: resultTargetId }: Given<typeof fields.changed>,
  { orgId }: TargetKey,
): Promise<KindChange | Refused> {
  const isAuthGiven = auth !== undefined || confirmOrigin !== undefined;
  if (!isAuthGiven && resultTargetId === undefined) return { ok: true };
  const reading = isAuthGiven ? readAuth(auth, confirmOrigin) : undefined;
  if (reading?.ok === false) return invalid(reading.message);
  const changes = { auth: reading?.value, confirmOrigin, resultTargetId };
  return {
    ok: true,
    decide: (transaction, locked) => agents.decide(transaction, { ...locked, orgId }, changes),
  };
}
