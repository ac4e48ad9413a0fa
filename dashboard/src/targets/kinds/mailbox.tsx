import { Inbox } from "lucide-react";
import { TextField } from "../../controls/Field.tsx";
import { lazyPage } from "../../shell/lazyPage.ts";
import { notWhole, optionalNumber } from "../settingTexts.ts";
import type { SettingsForm } from "../useSettingsForm.ts";
import type { Kind } from "./kind.ts";

/** A queue whose messages consumers claim. Its page is in the folder `mailboxes`. */
export const mailbox: Kind = {
  label: "Mailbox",
  icon: Inbox,
  pages: { list: "/mailboxes", one: "/mailboxes/$id" },
  isPulled: true,
  isHandoff: false,
  isInPortal: false,
  isTestable: false,
  canReplayFiltered: false,
  hasWebhookId: false,
  choices: [
    {
      id: "mailbox",
      name: "A mailbox",
      detail: "Consumers claim messages",
      icon: Inbox,
      placeholder: "inbox",
      takesSecret: false,
      fieldNames: () => [],
      request: () => ({ kind: "mailbox", name: "inbox" }),
    },
  ],
  settings: [optionalNumber("max_claims", notWhole(1, 1000))],
  Settings,
  tabs: [],
  Consuming: lazyPage(() => import("../../mailboxes/ConsumeSnippets.tsx"), "ConsumeSnippets"),
  words: {
    delivered: "Delivered",
    canceled: "taken out of the mailbox",
    deleted: "Its messages can no longer be consumed, claimed ones included.",
  },
};

function Settings({ form }: { form: SettingsForm }) {
  return (
    <TextField
      label="Maximum claims"
      inputMode="numeric"
      hint="A message claimed this often without an acknowledgement becomes a dead letter; empty: no limit"
      {...form.field("max_claims")}
    />
  );
}
