import { setTimeout as delay } from "node:timers/promises";
import type { Command, Input } from "../command.ts";
import { exitCodes, CommandError, UsageError } from "../exitCodes.ts";
import type { Session } from "../session.ts";
import { filterOptions, readFilter } from "./eventFilter.ts";

export const replayCommand: Command = {
  name: "replay",
  words: "[item…]",
  summary: "send items once more: those named, or all that fit a filter",
  details:
    "Each replay is a new item with the old payload. With a filter they are sent at the rate given;\n--dry-run says first how many there are.",
  options: {
    ...filterOptions,
    rate: { type: "string", value: "N", help: "items per second" },
    "dry-run": { type: "boolean", help: "only say what would be replayed" },
  },
  run: replay,
};

const defaultRate = 50;

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
  const rate = input.number("rate", 1, 100_000) ?? defaultRate;
  const { client } = await connect();
  const filter = await readFilter(client, input);
  const ids: string[] = [];
  for await (const { id } of client.allEvents(filter)) ids.push(id);
  if (ids.length === 0) throw new CommandError("nothing fits the filter", exitCodes.notFound);
  if (input.flag("dry-run")) {
    out.one({ count: ids.length, count_is_exact: true, sample: ids.slice(0, 10) });
    return;
  }
  for (const id of ids) {
    const made = await client.replayEvent(id);
    out.line(made, `${made.source_event_id} -> ${made.id}  ${made.status}`);
    await delay(1000 / rate);
  }
}
