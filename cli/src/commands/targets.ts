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

/** The options of a target at creation and change. */
const changeOptions: Options = {
  name: { type: "string", value: "NAME", help: "its name" },
  description: { type: "string", value: "TEXT", help: "what it is for" },
  filter: {
    type: "string",
    value: "FILE",
    help: "which items it gets by what is in them, a JSON object; null in it is none",
  },
  customer: { type: "string", value: "CUSTOMER", help: "the customer that it belongs to" },
  uid: { type: "string", value: "UID", help: "your own id of it" },
  "max-retries": { type: "string", value: "N", help: "attempts after the first" },
  "retry-interval": {
    type: "string",
    value: "SECONDS",
    help: "before the first retry; later ones wait longer",
  },
  ...settingOptions,
};

const createOptions: Options = {
  ...changeOptions,
  name: { ...changeOptions["name"]!, help: "its name; needed" },
  ...creationOptions,
};

export const targetCommands: Command = {
  name: "target",
  summary: "targets: where items go",
  commands: [
    {
      name: "list",
      summary: "show all targets",
      options: {
        kind: { type: "string", value: "KIND", choices: targetKindNames, help: "only targets of this kind" },
        customer: { type: "string", value: "CUSTOMER", help: "only those of this customer" },
        names: { type: "boolean", help: "print their names alone, one a line" },
      },
      run: list,
    },
    { name: "get", words: "<target>", summary: "show a target and how it fares", run: get },
    {
      name: "create",
      words: "<kind>",
      wordChoices: targetKindNames,
      summary: `make a target: ${kindsInWords}`,
      details: kindDetails,
      options: createOptions,
      run: create,
    },
    {
      name: "set",
      words: "<target>",
      summary: "change a target: what is given; all else of it stays",
      details:
        "Of headers in a file, a value *** keeps the secret that is there. - is the standard input, for one of the files.",
      options: changeOptions,
      run: set,
    },
    {
      name: "test",
      words: "<target>",
      summary: "send a test item to a target, and show what it answered",
      options: {
        "event-type": { type: "string", value: "EVENT-TYPE", help: "the item's event type" },
      },
      run: test,
    },
    {
      name: "rotate",
      words: "<target>",
      summary: "make a new signing secret; the former one signs beside it until ended",
      options: { end: { type: "boolean", help: "end the rotation: the former secret signs no more" } },
      run: rotate,
    },
    {
      name: "enable",
      words: "<target>",
      summary: "deliver to a target again, with what it held",
      options: { "discard-held": { type: "boolean", help: "cancel what waits for it instead" } },
      run: enable,
    },
    {
      name: "disable",
      words: "<target>",
      summary: "deliver no more to a target; what comes is held",
      run: disable,
    },
    {
      name: "delete",
      words: "<target>",
      summary: "delete a target; what waits for it is canceled",
      options: { yes: { type: "boolean", help: "do it" } },
      run: remove,
    },
  ],
};

async function list({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const customer = input.text("customer");
  const all = (await client.listTargets(customer === undefined ? {} : { customer_uid: customer })).targets;
  const kind = input.text("kind");
  const targets = kind === undefined ? all : all.filter((target) => target.kind === kind);
  if (input.flag("names")) {
    for (const { name } of targets) out.line({ name }, plain(name));
    return;
  }
  out.list(targets, ["id", "kind", "enabled", "name", "url"]);
  if (targets.length === 0) out.say("there are no targets; postrider target create makes one");
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
  const [kind] = input.words as [string];
  const settings = await readSettings(session, input);
  const made: NewTarget = { ...settings, ...readCreation(session, input, kind), kind, name };
  const { client } = await session.connect();
  session.out.one(await client.createTarget(made));
}

async function set(session: Session, input: Input): Promise<void> {
  const changes = await readSettings(session, input);
  if (Object.values(changes).every((value) => value === undefined)) {
    throw new UsageError("say what to change, such as --url or --filter");
  }
  const { client } = await session.connect();
  session.out.one(await client.updateTarget(await targetId(client, input.words[0]!), changes));
}

/** Missing options are undefined and not sent. A file may contain null, which only a change accepts. */
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
    max_retries: input.number("max-retries", 0, 1_000_000),
    retry_interval_seconds: input.number("retry-interval", 0, 1_000_000_000),
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
  const discard = input.flag("discard-held") ? { discard_held: true } : {};
  out.one(await client.updateTarget(id, { enabled: true, ...discard }));
}

async function disable({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  out.one(await client.updateTarget(await targetId(client, words[0]!), { enabled: false }));
}

async function remove({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const id = await targetId(client, input.words[0]!);
  if (!input.flag("yes")) throw new UsageError("a deleted target does not come back: add --yes to do it");
  await client.deleteTarget(id);
  out.one({ id, deleted: true });
}
