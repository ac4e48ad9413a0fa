import { Type } from "typebox";
import { Stats as MailboxStats } from "../mailbox/message/schemas.ts";
import { targetKinds } from "../postgres/kinds.ts";
import { Id, Notice, notice } from "./schemas.ts";
import { defineTool, read, reads, type Tool } from "./tool.ts";
import { fieldsOf, nullable, NullableString, oneOf } from "../http/contract/schemas.ts";

const Target = Type.Object({
  id: Type.String(),
  kind: Type.String({ description: `${targetKinds.join(", ")}; a2a is an agent` }),
  name: Type.String(),
  description: NullableString,
  enabled: Type.Boolean(),
  disabled_reason: NullableString,
  agent_name: NullableString,
});

const Stats = Type.Object({
  ...Type.Pick(MailboxStats, ["ready", "claimed", "delayed", "blocked", "dead"]).properties,
  counts_are_exact: Type.Boolean({ description: "false if there were too many messages to count" }),
  oldest_age_seconds: nullable(Type.Number()),
  accepted_per_minute: Type.Number(),
  acknowledged_per_minute: Type.Number(),
});

/** Tools that show targets. URLs are not shown, because they may contain secrets. */
export const targetTools: readonly Tool[] = [
  defineTool(
    {
      name: "list_targets",
      description:
        "List the targets that items can be sent to: webhooks, mailboxes and agents, oldest first, 100 per page. For the next page, set after to the last id of the previous page.",
      annotations: reads("List targets"),
      input: {
        kind: Type.Optional(oneOf(targetKinds, "Only targets of this kind")),
        after: Type.Optional(Id("Id of the last target of the previous page")),
      },
      output: { notice: Notice, targets: Type.Array(Target) },
    },
    async (filter, context) => {
      const query = { ...filter, limit: 100 };
      type Answer = { targets: Record<string, unknown>[] };
      const { targets } = await read<Answer>(context, "/api/v1/targets", query);
      return { notice, targets: targets.map((target) => fieldsOf(Target, target)) };
    },
  ),
  defineTool(
    {
      name: "mailbox_stats",
      description:
        "Read the number of messages in a mailbox by state, and how fast messages are accepted and acknowledged.",
      annotations: reads("Read mailbox statistics"),
      input: { mailbox_id: Id("From list_targets, or from your user if your key may not list targets") },
      output: Stats.properties,
    },
    async ({ mailbox_id }, context) =>
      fieldsOf(Stats, await read(context, `/api/v1/mailboxes/${mailbox_id}/stats`)),
  ),
];
