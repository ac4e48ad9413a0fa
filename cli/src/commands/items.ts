import type { Client } from "../../../sdk/src/client.ts";
import type { Command, Input } from "../command.ts";
import { UsageError } from "../exitCodes.ts";
import { moment, type Output, plain } from "../output.ts";
import type { Session } from "../session.ts";
import { type EventFilter, filterOptions, readFilter } from "./eventFilter.ts";
import { followItems } from "./followItems.ts";
import { firstOf, limitOf, limitOption } from "./listed.ts";

export const itemCommands: Command = {
  name: "item",
  summary: "items: list, get, cancel, erase, tail",
  commands: [
    {
      name: "list",
      summary: "list items, newest first",
      options: {
        ...filterOptions,
        limit: limitOption,
      },
      run: list,
    },
    {
      name: "get",
      words: "<item>",
      summary: "show an item, its attempts, and the agent's task",
      options: {
        payload: { help: "print only the payload, byte for byte as it was accepted" },
      },
      run: get,
    },
    {
      name: "cancel",
      words: "<item…>",
      summary: "cancel items that wait to be delivered",
      run: cancel,
    },
    {
      name: "erase",
      words: "<item>",
      summary: "erase the content of an item and of its copies; its record stays",
      options: { yes: { help: "confirm" } },
      run: erase,
    },
    {
      name: "tail",
      summary: "show items as they are accepted, until Ctrl-C",
      options: { target: filterOptions["target"]!, "event-type": filterOptions["event-type"]! },
      run: tail,
    },
  ],
};

async function list({ out, connect }: Session, input: Input): Promise<void> {
  const limit = limitOf(input);
  const { client } = await connect();
  const filter = { ...(await readFilter(client, input)), fields: "attempts,last_status_code" };
  const rows = await firstOf(client.allEvents(filter), limit);
  out.list(rows, ["id", "created_at", "status", "attempts", "last_status_code", "event_type"]);
}

async function get({ out, connect }: Session, input: Input): Promise<void> {
  const service = await connect();
  const [id] = input.words as [string];
  if (input.flag("payload")) {
    out.raw(await service.readPayloadText(id));
    return;
  }
  const answer = await service.client.readEvent(id);
  if (out.isJson) {
    out.one(answer);
    return;
  }
  out.one(answer.event);
  if (answer.handoff) {
    out.raw("\n");
    out.one(answer.handoff);
  }
  showAttempts(out, answer);
}

function showAttempts(
  out: Output,
  { delivery_attempts: attempts }: Awaited<ReturnType<Client["readEvent"]>>,
): void {
  if (attempts.length === 0) return;
  out.raw("\n");
  out.list(attempts, ["attempted_at", "status_code", "duration_ms", "error"]);
}

async function cancel({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  for (const id of words) {
    const canceled = await client.cancelEvent(id);
    out.line(canceled, `${canceled.id}  ${canceled.status}`);
  }
}

async function erase({ out, connect }: Session, input: Input): Promise<void> {
  if (!input.flag("yes")) throw new UsageError("erased content cannot be restored: add --yes to erase it");
  const { client } = await connect();
  out.one(await client.eraseEvent(input.words[0]!));
}

async function tail({ out, connect, untilStopped }: Session, input: Input): Promise<void> {
  const { client, nowMs } = await connect();
  const filter: EventFilter = await readFilter(client, input);
  const following = {
    stop: untilStopped(),
    nowMs,
    onBegun: () => out.say("showing items as they are accepted; Ctrl-C ends it"),
    onProblem: (problem: string) => out.say(plain(problem)),
  };
  for await (const event of followItems(client, filter, following)) {
    const { id, created_at, status, event_type } = event;
    out.line(event, `${moment(created_at)}  ${id}  ${status.padEnd(12)}  ${plain(event_type)}`);
  }
}
