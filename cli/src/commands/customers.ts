import type { Command, Input } from "../command.ts";
import { UsageError } from "../exitCodes.ts";
import { plain } from "../output.ts";
import { checkStandardInput, readGivenObject } from "../readGiven.ts";
import type { Session } from "../session.ts";
import { firstOf } from "./listed.ts";

export const customerCommands: Command = {
  name: "customer",
  summary: "customers: who receives your items, by your own ids",
  commands: [
    {
      name: "list",
      summary: "list customers, by uid",
      options: {
        prefix: { value: "TEXT", help: "only uids with this prefix" },
        names: { help: "print uids only, one per line" },
      },
      run: list,
    },
    { name: "get", words: "<customer>", summary: "show a customer and its targets", run: get },
    {
      name: "put",
      words: "<customer>",
      summary: "create a customer, or replace an existing one",
      details: "Omitted fields become empty. Repeating the command changes nothing.",
      options: {
        name: { value: "NAME", help: "name of the customer" },
        metadata: { value: "FILE", help: "metadata, a JSON object; - is standard input" },
      },
      run: put,
    },
    {
      name: "delete",
      words: "<customer>",
      summary: "delete a customer, its targets and its limited keys; waiting items are canceled",
      options: { yes: { help: "confirm" } },
      run: remove,
    },
    {
      name: "portal-link",
      words: "<customer>",
      summary: "create a link to the customer's portal, which works once, within an hour",
      run: link,
    },
    {
      name: "end-portal",
      words: "<customer>",
      summary: "end the customer's portal sessions and unused links",
      run: endPortal,
    },
  ],
};

async function list({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const rows = await firstOf(client.allCustomers({ prefix: input.text("prefix") }));
  if (input.flag("names")) {
    for (const { uid } of rows) out.line({ uid }, uid);
    return;
  }
  out.list(rows, ["uid", "name", "created_at"]);
  if (rows.length === 0) out.say("no customers found; create one with postrider customer put");
}

async function get({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  const [uid] = words as [string];
  const [customer, { targets }] = await Promise.all([
    client.readCustomer(uid),
    client.listTargets({ customer_uid: uid }),
  ]);
  if (out.isJson) {
    out.one({ ...customer, targets });
    return;
  }
  out.one(customer);
  if (targets.length > 0) out.raw("\n");
  out.list(targets, ["id", "kind", "enabled", "name", "url"]);
}

async function put({ out, stdin, connect }: Session, input: Input): Promise<void> {
  const file = input.text("metadata");
  checkStandardInput(input, [file], "the metadata");
  const { client } = await connect();
  const body = {
    name: input.text("name"),
    metadata: file === undefined ? undefined : await readGivenObject(stdin, file, "the metadata"),
  };
  out.one(await client.putCustomer(input.words[0]!, body));
}

async function remove({ out, connect }: Session, input: Input): Promise<void> {
  if (!input.flag("yes"))
    throw new UsageError("its targets are deleted, too, and cannot be restored: add --yes to delete them");
  const { client } = await connect();
  const [uid] = input.words as [string];
  out.one({ uid, ...(await client.deleteCustomer(uid)) });
}

async function link({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  const made = await client.createPortalLink(words[0]!);
  out.line(made, plain(made.url));
  out.say("it works once, within an hour");
}

async function endPortal({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  out.one(await client.endPortalSessions(words[0]!));
}
