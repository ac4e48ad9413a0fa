import type { Command, Input, Options } from "../command.ts";
import { checkStandardInput, readGiven } from "../readGiven.ts";
import type { Session } from "../session.ts";
import { targetId } from "./chooseTarget.ts";

/** Options for the fields of an item, except for its body. */
export const itemOptions: Options = {
  "event-type": { value: "EVENT-TYPE", help: "event type, if the body has no event_type" },
  "correlation-id": { value: "ID", help: "correlation id" },
  "ordering-key": { value: "KEY", help: "ordering key: a mailbox hands out items of one key in order" },
  "idempotency-key": {
    value: "KEY",
    help: "idempotency key: a repetition with the same key creates no second item; random by default",
  },
};

export const sendCommand: Command = {
  name: "send",
  words: "<target> <file>",
  summary: "send a JSON file, or standard input (-), as an item",
  details:
    "The bytes are sent unchanged. When the command ends with 0, the item is durable. Failed requests are repeated with\nthe same idempotency key, so that they create one item.",
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
 * The item that a command line describes: a function that reads its body, and the options of the request.
 * @throws {UsageError} when the standard input would have to be both the item and the API key.
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
