import type { NewReplay } from "../../../sdk/src/client.ts";
import type { Command, Input } from "../command.ts";
import { UsageError } from "../exitCodes.ts";
import type { Session } from "../session.ts";
import { endedStatuses, filterOptions, readFilter } from "./eventFilter.ts";

export const replayCommand: Command = {
  name: "replay",
  words: "[item…]",
  summary: "send items once more: those named, or all that fit a filter",
  details:
    "Each replay is a new item with the old payload. With a filter the service does the work by itself, at the rate given;\n--dry-run says first how many there are.",
  options: {
    ...filterOptions,
    status: { ...filterOptions["status"]!, choices: endedStatuses },
    rate: { type: "string", value: "N", help: "items per second" },
    "dry-run": { type: "boolean", help: "only say what would be replayed" },
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
      const made = await client.replayEvent(id);
      out.line(made, `${made.source_event_id} -> ${made.id}  ${made.status}`);
    }
  }
}

async function replayAll({ out, connect }: Session, input: Input): Promise<void> {
  const rate = input.number("rate", 1, 100_000);
  const { client } = await connect();
  // The status is one of those that the option allows.
  const filter = (await readFilter(client, input)) as NewReplay["filter"];
  const isDry = input.flag("dry-run");
  const answer = await client.startReplay({
    filter,
    ...(rate !== undefined && { rate_per_second: rate }),
    ...(isDry && { dry_run: true }),
  });
  out.one(answer);
  if (isDry && "count" in answer && answer.count === 0) {
    out.say("nothing fits the filter");
  }
}
