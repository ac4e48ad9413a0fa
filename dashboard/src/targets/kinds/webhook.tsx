import { FlaskConical, Webhook } from "lucide-react";
import type { Attempt, ItemEvent, Target } from "../../api/shapes.ts";
import { Card, Facts } from "../../controls/Card.tsx";
import { TextField, WebhookUrlField } from "../../controls/Field.tsx";
import { isTryout, newTryoutUrl } from "../../tryout/tryoutUrl.ts";
import { DeliveryFields } from "../DeliveryFields.tsx";
import { EventTypesField } from "../EventTypesField.tsx";
import { HeaderFields } from "../HeaderFields.tsx";
import { deliverySettings, eventTypesSetting, urlSetting } from "../settingTexts.ts";
import { SigningSecret } from "../SigningSecret.tsx";
import type { SettingsForm } from "../useSettingsForm.ts";
import type { Kind } from "./kind.ts";
import { sentHeaders } from "./sentHeaders.ts";

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
      detail: "This page receives, and shows what a receiver would get",
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
      request: ({ url = "" }) => ({ kind: "webhook", name: URL.parse(url)?.hostname ?? "webhook", url }),
    },
  ],
  settings: [urlSetting, eventTypesSetting, ...deliverySettings],
  Settings,
  tabs: [{ id: "secret", name: "Secret", Content: SigningSecret }],
  ItemSections,
  words: {
    delivered: "Delivered",
    canceled: "not sent any more",
    deleted: "Items that wait for it, retries included, become CANCELED and are not sent.",
  },
};

function Settings({ target, form }: { target: Target; form: SettingsForm }) {
  return (
    <>
      {!isTryout(target.url) && <TextField label="URL" type="url" required {...form.field("url")} />}
      <EventTypesField {...form.field("event_types")} />
      <DeliveryFields form={form} />
      <HeaderFields {...form.headers} />
    </>
  );
}

function ItemSections({ event, attempts }: { event: ItemEvent; attempts: readonly Attempt[] }) {
  return (
    <Card title="Headers as they were sent">
      <div className="text-meta">
        <Facts
          facts={sentHeaders(event, attempts).map(([name, value]) => [name, <code key={name}>{value}</code>])}
        />
      </div>
    </Card>
  );
}
