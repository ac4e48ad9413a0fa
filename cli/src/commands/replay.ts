import type { NewReplay } from "../../../sdk/src/client.ts";
import type { Command, Input } from "../command.ts";
import { UsageError } from "../exitCodes.ts";
import type { Session } from "../session.ts";
import { endedStatuses, filterOptions, readFilter } from "./eventFilter.ts";

export const replayCommand: Command = {
  name: "replay",
  words: "[item…]",
  summary: "send items again: the named ones, or all that match a filter",
  details:
    "Each replay is a new item with the old payload. With a filter the service replays in the background, at the\ngiven rate; --dry-run shows the number first, and more than one item needs --yes. Deliveries keep the webhook-id of the\nreplayed item, so that receivers that deduplicate apply it once; --new-webhook-id gives them a new one. Failed items\nwith a replay that is in progress or succeeded are left out.",
  options: {
    ...filterOptions,
    status: { ...filterOptions["status"]!, choices: endedStatuses },
    rate: { value: "N", help: "items per second" },
    "dry-run": { help: "only show what would be replayed" },
    yes: { help: "confirm a replay of more than one item" },
    "include-replayed": { help: "also failed items whose replay is in progress or succeeded" },
    "new-webhook-id": { help: "new webhook-id, for receivers that must apply the events again" },
  },
  run: replay,
};

async function replay(session: Session, input: Input): Promise<void> {
  const filtering = Object.keys(filterOptions).some((name) => input.text(name) !== undefined);
  if (filtering === input.words.length > 0) {
    throw new UsageError(
      filtering
        ? "name items or give a filter, not both"
        : "name items, or give a filter such as --target and --status",
    );
  }
  if (filtering) await replayAll(session, input);
  else await replayNamed(session, input);
}

async function replayNamed({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const isDry = input.flag("dry-run");
  for (const id of input.words) {
    if (isDry) {
      const { event } = await client.readEvent(id);
      out.line({ source_event_id: id, status: event.status, dry_run: true }, `${id}  ${event.status}`);
    } else {
      const made = await client.replayEvent(id, webhookId(input));
      out.line(made, `${made.source_event_id} -> ${made.id}  ${made.status}`);
    }
  }
}

function webhookId(input: Input): { webhook_id?: "new" } {
  return input.flag("new-webhook-id") ? { webhook_id: "new" } : {};
}

async function replayAll({ out, connect }: Session, input: Input): Promise<void> {
  const rate = input.number("rate", 1, 1_000);
  const { client } = await connect();
  // The cast is safe: the option's `choices` allow only statuses of items that can be replayed.
  const filter = (await readFilter(client, input)) as NewReplay["filter"];
  const isDry = input.flag("dry-run");
  const which = { filter, include_replayed: input.flag("include-replayed") || undefined };
  if (!isDry && !input.flag("yes")) {
    const counted = await client.startReplay({ ...which, dry_run: true });
    const many = "count" in counted ? counted.count : 0;
    if (many > 1) throw new UsageError(`${many} items match the filter: add --yes to replay them all`);
  }
  const answer = await client.startReplay({
    ...which,
    ...webhookId(input),
    rate_per_second: rate,
    dry_run: isDry || undefined,
  });
  out.one(answer);
  if (isDry && "count" in answer && answer.count === 0) out.say("no item matches the filter");
}
