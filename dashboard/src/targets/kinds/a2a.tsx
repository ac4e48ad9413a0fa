import { Bot } from "lucide-react";
import type { NewTarget } from "../../api/shapes.ts";
import { lazyPage } from "../../shell/lazyPage.ts";
import { parseUrl } from "../parseUrl.ts";
import { deliverySettings } from "../settingTexts.ts";
import type { ChoiceTexts, Kind } from "./kind.ts";

/** An agent with an A2A card. The components for the tasks of its items are in the folder `handoffs`. */
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
      Fields: lazyPage(() => import("../AgentFields.tsx"), "AgentFields"),
      fieldNames: (texts) => ["agent_card_url", ...authFields[authType(texts)]],
      request: (texts) => {
        const { agent_card_url: cardUrl = "", confirm_origin: origin = "" } = texts;
        const name = parseUrl(cardUrl)?.hostname ?? "agent";
        const auth = authOf(texts);
        const isConfirmed = auth.type !== "none" && origin.trim() !== "";
        const confirmation = isConfirmed ? { confirm_origin: origin.trim() } : {};
        return { kind: "a2a", name, agent_card_url: cardUrl, auth, ...confirmation };
      },
    },
  ],
  settings: deliverySettings,
  Settings: lazyPage(() => import("../DeliveryFields.tsx"), "DeliveryFields"),
  tabs: [{ id: "card", name: "Card", Content: lazyPage(() => import("../AgentCard.tsx"), "AgentCard") }],
  words: {
    delivered: "Handed over",
    canceled: "not sent any more",
    deleted: "Items that wait for it, retries included, become CANCELED and are not sent.",
  },
};

type AuthType = "none" | "bearer" | "api_key";

/** The fields of each kind of authentication, as the service's errors name them. */
const authFields: Record<AuthType, readonly string[]> = {
  none: [],
  bearer: ["auth.token", "auth", "confirm_origin"],
  api_key: ["auth.header", "auth.value", "auth", "confirm_origin"],
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
