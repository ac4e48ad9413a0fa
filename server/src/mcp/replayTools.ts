import { type Static, Type } from "typebox";
import { webhookIdField } from "../events/schemas.ts";
import { rates } from "../replays/schemas.ts";
import { EndedStatus, Id, itemFilter, Text } from "./schemas.ts";
import { call, changes, defineTool, type Tool, type ToolContext } from "./tool.ts";

const replayItem = defineTool(
  {
    name: "replay_item",
    description:
      'Deliver an item\'s payload once more, as a new item. Its receiver sees it a second time, under the webhook-id of the first, so that one which deduplicates ignores it; webhook_id "new" is for receivers that must apply it again.',
    annotations: changes("Replay an item", { openWorldHint: true }),
    input: { id: Id("The item"), ...webhookIdField },
    output: {
      id: Type.String({ description: "The new item's" }),
      status: Type.String(),
      source_event_id: Type.String(),
    },
  },
  ({ id, webhook_id }, context) => replay(context, `/api/v1/events/${id}/replay`, { webhook_id }),
);

const DryRun = Type.Object({
  count: Type.Integer(),
  count_is_exact: Type.Boolean(),
  sample: Type.Array(Type.String(), { description: "Ids of some that fit" }),
});

const replayItems = defineTool(
  {
    name: "replay_items",
    description:
      "Replay all items that fit. Without confirm_count nothing is replayed: the answer says how many it would be. With confirm_count equal to that count the replay starts, in the background.",
    annotations: changes("Replay many items", { destructiveHint: true, openWorldHint: true }),
    input: {
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
    output: {
      is_started: Type.Boolean({ description: "False: nothing was replayed" }),
      ...DryRun.properties,
      replay_id: Text,
      next_step: Type.String(),
    },
  },
  async ({ confirm_count, rate_per_second, webhook_id, include_replayed, ...filter }, context) => {
    const path = "/api/v1/replays";
    const which = { filter, include_replayed };
    const dryRun = await replay<Static<typeof DryRun>>(context, path, { ...which, dry_run: true });
    if (confirm_count !== dryRun.count || dryRun.count === 0) {
      const next_step = nextStep(dryRun.count, confirm_count);
      return { is_started: false, ...dryRun, replay_id: null, next_step };
    }
    const { id } = await replay<{ id: string }>(context, path, { ...which, rate_per_second, webhook_id });
    return { is_started: true, ...dryRun, replay_id: id, next_step: "It runs in the background." };
  },
);

/** Starts a replay. Not repeatable: a repeated request could start a second replay. */
function replay<Body>(context: ToolContext, path: string, body: unknown): Promise<Body> {
  return call(context, { method: "POST", path, body, isRepeatable: false });
}

function nextStep(count: number, confirmed: number | undefined): string {
  if (count === 0) return "Nothing fits, so there is nothing to replay.";
  if (confirmed === undefined) return `Call again with confirm_count: ${count} to replay them.`;
  return `Not started: confirm_count is ${confirmed}, and ${count} fit now. Call again with confirm_count: ${count} if that is what you want.`;
}

/** Tools that replay items. Receivers get a second delivery, which cannot be undone. */
export const replayTools: readonly Tool[] = [replayItem, replayItems];
