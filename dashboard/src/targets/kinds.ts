import { Bot, Inbox, type LucideIcon, Webhook } from "lucide-react";
import type { Target } from "../api/shapes.ts";

export const kindNames: Record<Target["kind"], string> = {
  webhook: "Webhook",
  mailbox: "Mailbox",
  a2a: "Agent",
};

export const kindIcons: Record<Target["kind"], LucideIcon> = { webhook: Webhook, mailbox: Inbox, a2a: Bot };

/** The host that deliveries go to; nothing for a mailbox. */
export function hostOf(target: Pick<Target, "url">): string {
  if (target.url === undefined) return "";
  return URL.parse(target.url)?.host ?? target.url;
}

/** Where a target's own page is: a mailbox has one of its kind. */
export function pathOf(target: Pick<Target, "kind">): "/mailboxes/$id" | "/targets/$id" {
  return target.kind === "mailbox" ? "/mailboxes/$id" : "/targets/$id";
}
