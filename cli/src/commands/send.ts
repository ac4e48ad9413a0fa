import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { Command, Input } from "../command.ts";
import { CommandError, exitCodes, UsageError } from "../exitCodes.ts";
import type { Session } from "../session.ts";
import { targetId } from "./chooseTarget.ts";

export const sendCommand: Command = {
  name: "send",
  words: "<target> <file>",
  summary: "send a file of JSON, or the standard input (-), as an item",
  details:
    "The bytes are sent as they are. When the command is done the item is durable; failures on the way are\nrepeated under one idempotency key, so that it is one item.",
  options: {
    "event-type": { type: "string", value: "TYPE", help: "where the body has no event_type" },
    "correlation-id": { type: "string", value: "ID", help: "what it belongs to" },
    "ordering-key": {
      type: "string",
      value: "KEY",
      help: "mailboxes: items of one key are claimed in order",
    },
    "idempotency-key": {
      type: "string",
      value: "KEY",
      help: "the same key is one item; made up unless given",
    },
  },
  run: send,
};

async function send({ out, stdin, connect }: Session, input: Input): Promise<void> {
  const [target, file] = input.words as [string, string];
  if (file === "-" && input.flag("key-stdin")) {
    throw new UsageError("the standard input cannot be both the item and the key: set POSTRIDER_KEY");
  }
  const { client } = await connect();
  const id = await targetId(client, target);
  const body = file === "-" ? await buffer(stdin) : await readItem(file);
  out.one(
    await client.sendItem(id, new Uint8Array(body), {
      idempotencyKey: input.text("idempotency-key"),
      eventType: input.text("event-type"),
      correlationId: input.text("correlation-id"),
      orderingKey: input.text("ordering-key"),
    }),
  );
}

async function readItem(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const exitCode = code === "ENOENT" ? exitCodes.notFound : exitCodes.failed;
    throw new CommandError(`cannot read the item: ${message}`, exitCode, { cause });
  }
}
