import type { Command, Input } from "../command.ts";
import type { Session } from "../session.ts";
import { firstOf, limitOf, limitOption } from "./listed.ts";

export const replayJobCommands: Command = {
  name: "replay-job",
  summary: "replays of all items that match a filter: their progress",
  commands: [
    {
      name: "list",
      summary: "list replays by filter, newest first",
      options: {
        limit: limitOption,
      },
      run: list,
    },
    { name: "get", words: "<replay>", summary: "show a replay and its progress", run: get },
    {
      name: "cancel",
      words: "<replay>",
      summary: "cancel a replay; items that it has already created stay",
      run: cancel,
    },
  ],
};

async function list({ out, connect }: Session, input: Input): Promise<void> {
  const limit = limitOf(input);
  const { client } = await connect();
  const rows = await firstOf(client.allReplays(), limit);
  out.list(rows, ["id", "created_at", "status", "total", "replayed", "delivered", "failed", "skipped"]);
}

async function get({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  out.one(await client.readReplay(words[0]!));
}

async function cancel({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  out.one(await client.cancelReplay(words[0]!));
}
