import { Type } from "typebox";
import { callJson } from "./interfaceCall.ts";
import { webhookIdField } from "../events/schemas.ts";
import { rates } from "../replays/schemas.ts";
import { closed, EndedStatus, Id, itemFilter, Text } from "./schemas.ts";
import { changes, defineTool, type Tool, type ToolContext } from "./tool.ts";

interface DryRun {
  count: number;
  count_is_exact: boolean;
  sample: string[];
}

const ManyItems = Type.Object(
  {
    ...itemFilter,
    status: Type.Optional(EndedStatus),
    include_replayed: Type.Optional(
      Type.Boolean({
        description: "Also failures that have a replay which is under way or went through",
      }),
    ),
    ...webhookIdField,
    rate_per_second: Type.Optional(Type.Integer({ minimum: rates.least, maximum: rates.most })),
    confirm_count: Type.Optional(
      Type.Integer({ minimum: 0, description: "The count that a call without it has just answered" }),
    ),
  },
  closed,
);

/** Delivering again. Receivers see a second delivery, which nothing takes back. */
export function replayTools(): Tool[] {
  return [
    defineTool(
      {
        name: "replay_item",
        description:
          'Deliver an item\'s payload once more, as a new item. Its receiver sees it a second time, under the webhook-id of the first, so that one which deduplicates ignores it; webhook_id "new" is for receivers that must apply it again.',
        annotations: changes("Replay an item", { openWorldHint: true }),
        inputSchema: Type.Object({ id: Id("The item"), ...webhookIdField }, closed),
        outputSchema: Type.Object({
          id: Type.String({ description: "The new item's" }),
          status: Type.String(),
          source_event_id: Type.String(),
        }),
      },
      async ({ id, webhook_id }, { callInterface, signal }) => {
        const path = `/api/v1/events/${id}/replay`;
        const body = { webhook_id };
        return callJson(callInterface, { method: "POST", path, body, isRepeatable: false, signal });
      },
    ),
    defineTool(
      {
        name: "replay_items",
        description:
          "Replay all items that fit. Without confirm_count nothing is replayed: the answer says how many it would be. With confirm_count equal to that count the replay starts, in the background.",
        annotations: changes("Replay many items", { destructiveHint: true, openWorldHint: true }),
        inputSchema: ManyItems,
        outputSchema: Type.Object({
          is_started: Type.Boolean({ description: "False: nothing was replayed" }),
          count: Type.Integer(),
          count_is_exact: Type.Boolean(),
          sample: Type.Array(Type.String(), { description: "Ids of some that fit" }),
          replay_id: Text,
          next_step: Type.String(),
        }),
      },
      async ({ confirm_count, rate_per_second, webhook_id, include_replayed, ...filter }, context) => {
        const dryRun = await askReplays<DryRun>(context, { filter, include_replayed, dry_run: true });
        if (confirm_count !== dryRun.count || dryRun.count === 0) {
          return {
            is_started: false,
            ...dryRun,
            replay_id: null,
            next_step: nextStep(dryRun, confirm_count),
          };
        }
        const { id } = await askReplays<{ id: string }>(context, {
          filter,
          include_replayed,
          rate_per_second,
          webhook_id,
        });
        return { is_started: true, ...dryRun, replay_id: id, next_step: "It runs in the background." };
      },
    ),
  ];
}

function askReplays<Body>({ callInterface, signal }: ToolContext, body: unknown): Promise<Body> {
  // Repeated, a started replay might run twice.
  return callJson(callInterface, {
    method: "POST",
    path: "/api/v1/replays",
    body,
    isRepeatable: false,
    signal,
  });
}

function nextStep({ count }: DryRun, confirmed: number | undefined): string {
  if (count === 0) return "Nothing fits, so there is nothing to replay.";
  if (confirmed === undefined) return `Call again with confirm_count: ${count} to replay them.`;
  return `Not started: confirm_count is ${confirmed}, and ${count} fit now. Call again with confirm_count: ${count} if that is what you want.`;
}
