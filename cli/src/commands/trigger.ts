import type { Command, Input } from "../command.ts";
import { CommandError, exitCodes, UsageError } from "../exitCodes.ts";
import type { Session } from "../session.ts";
import { targetId } from "./chooseTarget.ts";

export const triggerCommand: Command = {
  name: "trigger",
  words: "<event-type>",
  summary: "send the catalogue's example of an event type, to try a receiver",
  details:
    "It is an item like any other: stored, delivered and billed. Without --target and --customer it goes to the\ntargets that belong to no customer.",
  options: {
    target: { value: "TARGET", help: "send it to this target, by id or name" },
    customer: { value: "CUSTOMER", help: "publish it to this customer's targets" },
  },
  run: trigger,
};

async function trigger({ out, connect }: Session, input: Input): Promise<void> {
  const [name] = input.words as [string];
  const target = input.text("target");
  const customer = input.text("customer");
  if (target !== undefined && customer !== undefined) {
    throw new UsageError("use either --target or --customer");
  }
  const { client } = await connect();
  const { example } = await client.readEventType(name);
  if (example === null) {
    throw new CommandError(
      `${name} has no example: give it one with postrider event-type put ${name} --example FILE`,
      exitCodes.conflict,
    );
  }
  const options = { eventType: name };
  if (target !== undefined) {
    out.one(await client.sendItem(await targetId(client, target), example, options));
    return;
  }
  const published =
    customer === undefined
      ? await client.publish(example, options)
      : await client.publishToCustomer(customer, example, options);
  if (out.isJson) out.one(published);
  else out.one({ id: published.id, items: published.items.length });
  if (published.items.length === 0) out.say("no target matches");
}
