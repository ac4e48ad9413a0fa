import { type Static, Type } from "typebox";
import { webhookIdField } from "../events/schemas.ts";
import { rates } from "../replays/schemas.ts";
import { EndedStatus, Id, itemFilter } from "./schemas.ts";
import { NullableString } from "../http/contract/schemas.ts";
import { call, changes, defineTool, type Tool, type ToolContext } from "./tool.ts";

const replayItem = defineTool(
  {
    name: "replay_item",
    description:
      'Deliver the payload of an item again, as a new item. The receiver gets it again with the same webhook-id, so a receiver that removes duplicates ignores it; use webhook_id "new" if the receiver must process it again.',
    annotations: changes("Replay an item", { openWorldHint: true }),
    input: { id: Id("Id of the item"), ...webhookIdField },
    output: {
      id: Type.String({ description: "Id of the new item" }),
      status: Type.String(),
      source_event_id: Type.String(),
    },
  },
  ({ id, webhook_id }, context) => replay(context, `/api/v1/events/${id}/replay`, { webhook_id }),
);

const DryRun = Type.Object({
  count: Type.Integer(),
  count_is_exact: Type.Boolean({ description: "false: `count` is a lower bound, and more items may match" }),
  sample: Type.Array(Type.String(), { description: "Ids of some of the matching items" }),
});

const replayItems = defineTool(
  {
    name: "replay_items",
    description:
      "Replay all items that match the filter. Without confirm_count, nothing is replayed: the response has the count of matching items. With confirm_count equal to that count, the replay starts in the background.",
    annotations: changes("Replay many items", { destructiveHint: true, openWorldHint: true }),
    input: {
      ...itemFilter,
      status: Type.Optional(EndedStatus),
      include_replayed: Type.Optional(
        Type.Boolean({
          description:
            "Also replay failed items that already have a replay in progress or a successful replay",
        }),
      ),
      ...webhookIdField,
      rate_per_second: Type.Optional(Type.Integer({ minimum: rates.least, maximum: rates.most })),
      confirm_count: Type.Optional(
        Type.Integer({
          minimum: 0,
          description: "The count that a call without confirm_count has just returned",
        }),
      ),
    },
    output: {
      is_started: Type.Boolean({ description: "false: nothing was replayed" }),
      ...DryRun.properties,
      replay_id: NullableString,
      next_step: Type.String(),
    },
  },
  async ({ confirm_count, rate_per_second, webhook_id, include_replayed, ...filter }, context) => {
    const path = "/api/v1/replays";
    const which = { filter, include_replayed };
    const dryRun = await replay<Static<typeof DryRun>>(context, path, { ...which, dry_run: true });
    if (!isConfirmed(dryRun, confirm_count)) {
      const next_step = nextStep(dryRun, confirm_count);
      return { is_started: false, ...dryRun, replay_id: null, next_step };
    }
    const { id } = await replay<{ id: string }>(context, path, { ...which, rate_per_second, webhook_id });
    return { is_started: true, ...dryRun, replay_id: id, next_step: "The replay runs in the background." };
  },
);

/** Where counting stops by time, no two counts are equal: the confirmed one must be at least the lower bound. */
function isConfirmed({ count, count_is_exact: isExact }: Static<typeof DryRun>, confirmed = 0): boolean {
  return count > 0 && (isExact ? confirmed === count : confirmed >= count);
}

/** Starts a replay. Not repeatable: a repeated request could start a second replay. */
function replay<Body>(context: ToolContext, path: string, body: unknown): Promise<Body> {
  return call(context, { method: "POST", path, body, isRepeatable: false });
}

function nextStep(
  { count, count_is_exact: isExact }: Static<typeof DryRun>,
  confirmed: number | undefined,
): string {
  if (count === 0) {
    return isExact
      ? "No items match, so there is nothing to replay."
      : "Counting stopped before it found a matching item: use a narrower filter.";
  }
  const again = `Call again with confirm_count: ${count} to replay`;
  const counted = `${isExact ? "" : "at least "}${count} items match`;
  if (confirmed !== undefined) {
    return `Not started: confirm_count is ${confirmed}, but ${counted} now. ${again} ${isExact ? "them" : "all of them"}.`;
  }
  return isExact ? `${again} the items.` : `Counting stopped early: ${counted}. ${again} all of them.`;
}

/** Tools that replay items. Receivers get a second delivery, which cannot be undone. */
export const replayTools: readonly Tool[] = [replayItem, replayItems];
