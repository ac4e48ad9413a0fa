import type { NewTarget } from "../../../sdk/src/client.ts";
import type { Command, Input, Options } from "../command.ts";
import { CommandError, UsageError } from "../exitCodes.ts";
import { plain } from "../output.ts";
import { checkStandardInput, readGivenJson } from "../readGiven.ts";
import type { Session } from "../session.ts";
import { targetId } from "./chooseTarget.ts";
import { targetKindNames } from "./targetKinds.generated.ts";
import {
  creationOptions,
  kindDetails,
  kindsInWords,
  readCreation,
  readKindSettings,
  settingOptions,
} from "./targetKinds.ts";

/** Options for creating and for changing a target. */
const changeOptions: Options = {
  name: { value: "NAME", help: "name of the target" },
  description: { value: "TEXT", help: "description of the target" },
  filter: {
    value: "FILE",
    help: "filter of its items by content, a JSON object; a file with null removes it",
  },
  customer: { value: "CUSTOMER", help: "customer that the target belongs to" },
  uid: { value: "UID", help: "your own id of the target" },
  "max-retries": { value: "N", help: "number of retries after the first attempt" },
  "retry-interval": { value: "SECONDS", help: "wait before the first retry; later waits are longer" },
  ...settingOptions,
};

const createOptions: Options = {
  ...changeOptions,
  name: { ...changeOptions["name"]!, help: "name of the target; required" },
  ...creationOptions,
};

export const targetCommands: Command = {
  name: "target",
  summary: "targets: where items go",
  commands: [
    {
      name: "list",
      summary: "list targets",
      options: {
        kind: { value: "KIND", choices: targetKindNames, help: "only targets of this kind" },
        customer: { value: "CUSTOMER", help: "only targets of this customer" },
        names: { help: "print names only, one per line" },
      },
      run: list,
    },
    { name: "get", words: "<target>", summary: "show a target and its health", run: get },
    {
      name: "create",
      words: "<kind>",
      wordChoices: targetKindNames,
      summary: `create a target: ${kindsInWords}`,
      details: kindDetails,
      options: createOptions,
      run: create,
    },
    {
      name: "set",
      words: "<target>",
      summary: "change the given fields of a target; other fields stay",
      details:
        "In a file of headers, the value *** keeps the current secret. One of the files may be -, standard input.",
      options: changeOptions,
      run: set,
    },
    {
      name: "test",
      words: "<target>",
      summary: "send a test item to a target, and show the answer",
      options: {
        "event-type": { value: "EVENT-TYPE", help: "the item's event type" },
      },
      run: test,
    },
    {
      name: "rotate",
      words: "<target>",
      summary: "create a new signing secret; the previous one also signs until it is ended",
      options: { end: { help: "end the rotation: the previous secret stops signing" } },
      run: rotate,
    },
    {
      name: "enable",
      words: "<target>",
      summary: "enable a target, and deliver its held items",
      options: { "discard-held": { help: "cancel its held items instead" } },
      run: enable,
    },
    {
      name: "disable",
      words: "<target>",
      summary: "disable a target; it holds its items",
      run: disable,
    },
    {
      name: "delete",
      words: "<target>",
      summary: "delete a target; its waiting items are canceled",
      options: { yes: { help: "confirm" } },
      run: remove,
    },
  ],
};

async function list({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const { targets: all } = await client.listTargets({ customer_uid: input.text("customer") });
  const kind = input.text("kind");
  const targets = kind === undefined ? all : all.filter((target) => target.kind === kind);
  if (input.flag("names")) {
    for (const { name } of targets) out.line({ name }, plain(name));
    return;
  }
  out.list(targets, ["id", "kind", "enabled", "name", "url"]);
  if (targets.length === 0) out.say("no targets found; create one with postrider target create");
}

async function get({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  const id = await targetId(client, words[0]!);
  const [target, health] = await Promise.all([client.readTarget(id), client.readTargetHealth(id)]);
  const { target_id: _id, kind: _kind, enabled: _enabled, ...fares } = health;
  out.one({ ...target, ...fares });
}

async function create(session: Session, input: Input): Promise<void> {
  const name = input.text("name");
  if (name === undefined) throw new UsageError("--name is missing");
  const [kind] = input.words as [NewTarget["kind"]];
  const settings = await readSettings(session, input);
  const made: NewTarget = { ...settings, ...readCreation(session, input, kind), kind, name };
  const { client } = await session.connect();
  session.out.one(await client.createTarget(made));
}

async function set(session: Session, input: Input): Promise<void> {
  const changes = await readSettings(session, input);
  if (Object.values(changes).every((value) => value === undefined)) {
    throw new UsageError("name a field to change, such as --url or --filter");
  }
  const { client } = await session.connect();
  session.out.one(await client.updateTarget(await targetId(client, input.words[0]!), changes));
}

/** Fields of options that are not given are undefined and not sent. A file may contain null, which only a change accepts. */
async function readSettings(session: Session, input: Input) {
  const filter = input.text("filter");
  checkStandardInput(input, [filter, input.text("headers")], "a part of the target");
  return {
    name: input.text("name"),
    description: input.text("description"),
    filter: (filter === undefined
      ? undefined
      : await readGivenJson(session.stdin, filter, "the filter")) as NewTarget["filter"],
    customer_uid: input.text("customer"),
    uid: input.text("uid"),
    max_retries: input.number("max-retries", 0, 50),
    retry_interval_seconds: input.number("retry-interval", 1, 86_400),
    ...(await readKindSettings(session, input)),
  };
}

async function test({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const eventType = input.text("event-type");
  const id = await targetId(client, input.words[0]!);
  const { event_id, delivered, attempt } = await client.testTarget(
    id,
    eventType === undefined ? null : { event_type: eventType },
  );
  out.one({ event_id, delivered, ...attempt });
  if (!delivered) throw new CommandError("the test item was not delivered");
}

async function rotate({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const id = await targetId(client, input.words[0]!);
  if (input.flag("end")) {
    await client.deletePreviousSigningSecret(id);
    out.one(await client.readTarget(id));
    return;
  }
  out.one(await client.rotateSigningSecret(id, null));
}

async function enable({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const id = await targetId(client, input.words[0]!);
  const discard_held = input.flag("discard-held") || undefined;
  out.one(await client.updateTarget(id, { enabled: true, discard_held }));
}

async function disable({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  out.one(await client.updateTarget(await targetId(client, words[0]!), { enabled: false }));
}

async function remove({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const id = await targetId(client, input.words[0]!);
  if (!input.flag("yes")) throw new UsageError("a deleted target cannot be restored: add --yes to delete it");
  await client.deleteTarget(id);
  out.one({ id, deleted: true });
}
