import type { NewTarget } from "../../../sdk/src/client.ts";
import type { Command, Input, Options } from "../command.ts";
import { CommandError, UsageError } from "../exitCodes.ts";
import { plain } from "../output.ts";
import type { Session } from "../session.ts";
import { targetId } from "./chooseTarget.ts";

const kinds = ["webhook", "mailbox", "a2a"] as const;

const createOptions: Options = {
  name: { type: "string", value: "NAME", help: "its name; needed" },
  url: { type: "string", value: "URL", help: "where a webhook's items go" },
  "card-url": { type: "string", value: "URL", help: "an agent's card" },
  description: { type: "string", value: "TEXT", help: "what it is for" },
  "event-type": {
    type: "string",
    value: "TYPE",
    multiple: true,
    help: "deliver only this type; may be repeated",
  },
  "max-retries": { type: "string", value: "N", help: "attempts after the first" },
  "retry-interval": {
    type: "string",
    value: "SECONDS",
    help: "before the first retry; later ones wait longer",
  },
  "max-claims": { type: "string", value: "N", help: "after how many claims a mailbox's message is dead" },
};

export const targetCommands: Command = {
  name: "target",
  summary: "targets: where items go",
  commands: [
    {
      name: "list",
      summary: "show all targets",
      options: {
        kind: { type: "string", value: "KIND", choices: kinds, help: "only targets of this kind" },
        names: { type: "boolean", help: "print their names alone, one a line" },
      },
      run: list,
    },
    { name: "get", words: "<target>", summary: "show a target and how it fares", run: get },
    {
      name: "create",
      words: "<kind>",
      wordChoices: kinds,
      summary: "make a target: webhook, mailbox or a2a",
      details:
        "The answer holds a webhook's signing secret, which is shown this once.\nThe bearer token of an agent is taken from POSTRIDER_AGENT_TOKEN.",
      options: createOptions,
      run: create,
    },
    {
      name: "test",
      words: "<target>",
      summary: "send a test item to a target, and show what it answered",
      options: {
        "event-type": { type: "string", value: "TYPE", help: "the item's event type" },
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
  const all = (await client.listTargets()).targets;
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

async function create({ out, env, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  out.one(await client.createTarget(newTarget(input, env)));
}

function newTarget(input: Input, env: NodeJS.ProcessEnv): NewTarget {
  const name = input.text("name");
  if (name === undefined) throw new UsageError("--name is missing");
  const [kind] = input.words as [string];
  const token = env["POSTRIDER_AGENT_TOKEN"] ?? "";
  const eventTypes = input.texts("event-type");
  const fields = {
    url: input.text("url"),
    agent_card_url: input.text("card-url"),
    description: input.text("description"),
    event_types: eventTypes.length > 0 ? [...eventTypes] : undefined,
    max_retries: input.number("max-retries", 0, 1_000_000),
    retry_interval_seconds: input.number("retry-interval", 0, 1_000_000_000),
    max_claims: input.number("max-claims", 0, 1_000_000_000),
    auth: kind !== "a2a" ? undefined : token === "" ? { type: "none" } : { type: "bearer", token },
  };
  return { kind, name, ...fields };
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
