import { FlaskConical, Webhook } from "lucide-react";
import { WebhookUrlField } from "../../controls/Field.tsx";
import { lazyPage } from "../../shell/lazyPage.ts";
import { newTryoutUrl } from "../../tryout/tryoutUrl.ts";
import { parseUrl } from "../parseUrl.ts";
import { deliverySettings, eventTypesSetting, urlSetting } from "../settingTexts.ts";
import type { Kind } from "./kind.ts";

/** A receiver of signed POSTs. */
export const webhook: Kind = {
  label: "Webhook",
  icon: Webhook,
  pages: { list: "/targets", one: "/targets/$id" },
  isPulled: false,
  isHandoff: false,
  isInPortal: true,
  isTestable: true,
  canReplayFiltered: true,
  hasWebhookId: true,
  choices: [
    {
      id: "tryout",
      name: "Try it here",
      detail: "The dashboard receives the deliveries and shows them",
      icon: FlaskConical,
      placeholder: "Try it here",
      takesSecret: false,
      fieldNames: () => [],
      request: () => ({ kind: "webhook", name: "Try it here", url: newTryoutUrl() }),
    },
    {
      id: "webhook",
      name: "Your URL",
      detail: "Signed deliveries to your own receiver",
      icon: Webhook,
      placeholder: "orders",
      takesSecret: true,
      Fields: ({ field }) => <WebhookUrlField {...field("url")} />,
      fieldNames: () => ["url"],
      request: ({ url = "" }) => ({ kind: "webhook", name: parseUrl(url)?.hostname ?? "webhook", url }),
    },
  ],
  settings: [urlSetting, eventTypesSetting, ...deliverySettings],
  Settings: lazyPage(() => import("../WebhookSettings.tsx"), "WebhookSettings"),
  tabs: [
    {
      id: "secret",
      name: "Secret",
      Content: lazyPage(() => import("../SigningSecret.tsx"), "SigningSecret"),
    },
  ],
  ItemSections: lazyPage(() => import("../../items/SentHeaders.tsx"), "SentHeaders"),
  words: {
    delivered: "Delivered",
    canceled: "not sent any more",
    deleted: "Items that wait for it, retries included, become CANCELED and are not sent.",
  },
};
