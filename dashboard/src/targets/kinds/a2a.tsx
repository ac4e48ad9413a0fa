import { Bot } from "lucide-react";
import type { NewTarget } from "../../api/shapes.ts";
import { SelectField, TextField } from "../../controls/Field.tsx";
import { AgentCard } from "../AgentCard.tsx";
import { DeliveryFields } from "../DeliveryFields.tsx";
import { deliverySettings } from "../settingTexts.ts";
import type { ChoiceFieldsProps, ChoiceTexts, Kind } from "./kind.ts";

/** An agent with an A2A card. The tasks of its items are shown in the folder `handoffs`. */
export const a2a: Kind = {
  label: "Agent",
  icon: Bot,
  pages: { list: "/targets", one: "/targets/$id" },
  isPulled: false,
  isHandoff: true,
  isInPortal: false,
  // A test would begin a real task, and the service refuses it.
  isTestable: false,
  canReplayFiltered: false,
  hasWebhookId: false,
  choices: [
    {
      id: "a2a",
      name: "An agent",
      detail: "A handoff to an agent with an A2A card",
      icon: Bot,
      placeholder: "planner",
      takesSecret: false,
      Fields: AgentFields,
      fieldNames: (texts) => ["agent_card_url", ...authFields[authType(texts)]],
      request: (texts) => {
        const { agent_card_url: cardUrl = "" } = texts;
        const name = URL.parse(cardUrl)?.hostname ?? "agent";
        return { kind: "a2a", name, agent_card_url: cardUrl, auth: authOf(texts) };
      },
    },
  ],
  settings: deliverySettings,
  Settings: DeliveryFields,
  tabs: [{ id: "card", name: "Card", Content: AgentCard }],
  words: {
    delivered: "Handed over",
    canceled: "not sent any more",
    deleted: "Items that wait for it, retries included, become CANCELED and are not sent.",
  },
};

type AuthType = "none" | "bearer" | "api_key";

/** The fields that a kind of authentication shows, as refusals name them. */
const authFields: Record<AuthType, readonly string[]> = {
  none: [],
  bearer: ["auth.token", "auth"],
  api_key: ["auth.header", "auth.value", "auth"],
};

function authType({ "auth.type": type }: ChoiceTexts): AuthType {
  return (type ?? "none") as AuthType;
}

function authOf(texts: ChoiceTexts): NonNullable<NewTarget["auth"]> {
  const type = authType(texts);
  switch (type) {
    case "none":
      return { type };
    case "bearer":
      return { type, token: texts["auth.token"] ?? "" };
    case "api_key":
      return { type, header: (texts["auth.header"] ?? "").trim(), value: texts["auth.value"] ?? "" };
  }
}

function AgentFields({ texts, field }: ChoiceFieldsProps) {
  const secret = {
    type: "password",
    required: true,
    autoComplete: "off",
    hint: "Stored encrypted; it is never shown again",
  };
  const type = authType(texts);
  const { onChange: onType } = field("auth.type");
  return (
    <>
      <TextField
        label="Agent card URL"
        type="url"
        required
        placeholder="https://agent.example/.well-known/agent-card.json"
        {...field("agent_card_url")}
      />
      <SelectField label="Authentication" value={type} onChange={onType}>
        <option value="none">None</option>
        <option value="bearer">Bearer token</option>
        <option value="api_key">API key in a header</option>
      </SelectField>
      {type === "api_key" && (
        <>
          <TextField label="Header" required placeholder="X-API-Key" {...field("auth.header")} />
          <TextField label="API key" {...secret} {...field("auth.value", "auth")} />
        </>
      )}
      {type === "bearer" && <TextField label="Token" {...secret} {...field("auth.token", "auth")} />}
    </>
  );
}
