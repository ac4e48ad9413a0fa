import { type Read, unreadable } from "../../http/contract/errors.ts";
import { type Static, type TObject, Type } from "typebox";
import { nullable, NullableString, nullableString, oneOf, Timestamp } from "../../http/contract/schemas.ts";
import { textOf } from "../../http/contract/textForms.ts";
import type { Queries } from "../../postgres/tables.ts";
import type { RefreshedBy, RefreshOutcome } from "../record/kind.ts";
import type { Refused } from "../record/refusal.ts";
import type { CreationSteps, Decision, StoredTarget, TargetKey } from "../record/store.ts";
import { nameFault, valueFault } from "../record/headerRules.ts";

const credentialTypes = ["bearer", "api_key", "none"] as const;

/** The fields of the agent in the answer for an a2a target, in addition to the target's own fields. */
export const agentAnswer = {
  agent_card_url: Type.String(),
  auth: Type.Object({
    type: oneOf(credentialTypes, "token and value are never shown"),
    header: Type.Optional(Type.String({ description: "With api_key: the header that carries the value" })),
  }),
  agent_name: Type.String({ description: "From the agent's card" }),
  agent_version: Type.String({ description: "From the agent's card" }),
  card_fetched_at: Type.Integer({ description: "When the card in use was last read, in Unix seconds" }),
  card_error: nullableString(
    "Why the card could not be refreshed since then; the last usable card stays in use",
  ),
  card_error_at: nullable(Timestamp),
  card_signature: Type.String({
    description:
      "verified; unverified when no key could be fetched; invalid when the signature does not match; none when the card is not signed",
  }),
  card_signature_keys: nullableString(
    "The URL of the keys that verified the card: its owner vouches for the card",
  ),
  card_signature_detail: NullableString,
  offered_origin: nullableString(
    "The origin to which a newer card moves the agent, until the owner names it in confirm_origin",
  ),
  offered_signature: nullableString(
    "The state of a newer card's signature, worse than verified, until the owner names it in confirm_signature",
  ),
  result_target_id: nullableString(
    "The mailbox or webhook target that receives each task's result as an item",
  ),
};

export type AgentView = Static<TObject<typeof agentAnswer>>;

export interface AgentChanges {
  auth: AgentAuth | undefined;
  /** The origin to which the credential may be sent, if it differs from the card's origin. */
  confirmOrigin: string | undefined;
  resultTargetId: string | null | undefined;
}

/** The agents behind targets of kind `a2a`: their cards, credentials and result targets; implemented by `handoff/`. */
export interface Agents {
  /** Reads the agent card before anything is stored, because no transaction may be open during an outbound request. */
  prepare(
    input: AgentChanges & { agentCardUrl: string; auth: AgentAuth },
    target: TargetKey,
  ): Promise<PreparedAgent | Refused>;
  /** Reads the card again and stores its interface and the target's `url`. A card that cannot be used changes nothing. */
  refresh(targetId: string, by: RefreshedBy): Promise<RefreshOutcome>;
  /** Decides on a change of the agent, in the transaction that has locked its target. */
  decide(
    transaction: Queries,
    target: StoredTarget & TargetKey,
    changes: AgentChanges,
  ): Promise<Decision | Refused>;
  /** The agents of these targets, by target id. Targets without an agent are not in the map. */
  describe(targetIds: readonly string[]): Promise<Map<string, AgentView>>;
}

export interface PreparedAgent extends CreationSteps {
  ok: true;
  /** The agent's interface, which becomes the target's `url`. */
  url: string;
}

/** How the service authenticates to an agent. */
export type AgentAuth =
  | { type: "none" }
  | { type: "bearer"; token: string }
  /** A value in a header that the agent names. */
  | { type: "api_key"; header: string; value: string };

/** The credential for an agent, in a request. */
export const Auth = Type.Object({
  type: oneOf(credentialTypes),
  token: Type.Optional(
    textOf("printableWord", { minLength: 1, maxLength: 4096, description: "With bearer" }),
  ),
  header: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: "With api_key: such as X-API-Key" }),
  ),
  value: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description: "With api_key" })),
});

/** Reads the credential of a request; without one, the type is `none`. */
export function readAuth(
  auth: Static<typeof Auth> | undefined,
  confirmOrigin: string | undefined,
): Read<AgentAuth> {
  if (confirmOrigin !== undefined && auth?.type !== "bearer" && auth?.type !== "api_key") {
    return unreadable("confirm_origin needs auth of type bearer or api_key");
  }
  if (auth === undefined) return { ok: true, value: { type: "none" } };
  const unused = unusedField(auth);
  if (unused !== undefined) return unreadable(`auth.${unused} does not apply when auth.type is ${auth.type}`);
  switch (auth.type) {
    case "none":
      return { ok: true, value: { type: "none" } };
    case "bearer":
      if (auth.token === undefined) return unreadable("auth.token is required when auth.type is bearer");
      return { ok: true, value: { type: "bearer", token: auth.token } };
    case "api_key":
      return readApiKey(auth);
  }
}

/** A field that has no meaning for the type, and would be dropped. */
function unusedField({ type, ...fields }: Static<typeof Auth>): string | undefined {
  const used = new Map([
    ["none", []],
    ["bearer", ["token"]],
    ["api_key", ["header", "value"]],
  ]).get(type);
  return used && credentialFields.find((name) => fields[name] !== undefined && !used.includes(name));
}

const credentialFields = ["token", "header", "value"] as const;

function readApiKey({ header, value }: Static<typeof Auth>): Read<AgentAuth> {
  if (header === undefined) return unreadable("auth.header is required when auth.type is api_key");
  if (value === undefined) return unreadable("auth.value is required when auth.type is api_key");
  const badName = nameFault(header) ?? (ownHeaders.has(header.toLowerCase()) ? "is reserved" : undefined);
  if (badName !== undefined) return unreadable(`auth.header ${badName}`);
  const badValue = valueFault(value);
  if (badValue !== undefined) return unreadable(`auth.value ${badValue}`);
  return { ok: true, value: { type: "api_key", header, value } };
}

/** Headers that the service sets in every request to an agent. */
const ownHeaders = new Set(["accept", "a2a-version", "a2a-extensions"]);
