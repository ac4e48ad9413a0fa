import type { Command, Input, Options } from "../command.ts";
import { checkStandardInput, readGiven } from "../readGiven.ts";
import type { Session } from "../session.ts";
import { targetId } from "./chooseTarget.ts";

/** The fields of an item beside its body. */
export const itemOptions: Options = {
  "event-type": { type: "string", value: "EVENT-TYPE", help: "where the body has no event_type" },
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
};

export const sendCommand: Command = {
  name: "send",
  words: "<target> <file>",
  summary: "send a file of JSON, or the standard input (-), as an item",
  details:
    "The bytes are sent as they are. When the command is done the item is durable; failures on the way are\nrepeated under one idempotency key, so that it is one item.",
  options: itemOptions,
  run: send,
};

async function send({ out, stdin, connect }: Session, input: Input): Promise<void> {
  const [target, file] = input.words as [string, string];
  const { read, options } = itemOf(stdin, input, file);
  const { client } = await connect();
  const id = await targetId(client, target);
  out.one(await client.sendItem(id, await read(), options));
}

/**
 * An item as a command line gives it: what reads its bytes, and what is said of it beside.
 * @throws {UsageError} when the standard input is to be both the item and the key.
 */
export function itemOf(stdin: Session["stdin"], input: Input, file: string) {
  checkStandardInput(input, [file], "the item");
  return {
    read: () => readGiven(stdin, file, "the item"),
    options: {
      idempotencyKey: input.text("idempotency-key"),
      eventType: input.text("event-type"),
      correlationId: input.text("correlation-id"),
      orderingKey: input.text("ordering-key"),
    },
  };
}
