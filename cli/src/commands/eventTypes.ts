import type { EventTypeInput, ImportedEventTypes } from "../../../sdk/src/client.ts";
import type { Command, Input } from "../command.ts";
import { CommandError, UsageError } from "../exitCodes.ts";
import { type Output, plain } from "../output.ts";
import { parseExactly } from "../parseExactly.ts";
import { checkStandardInput, readGiven, readGivenJson, readGivenObject } from "../readGiven.ts";
import type { Session } from "../session.ts";
import { firstOf } from "./listed.ts";

const parts = ["schema", "example"] as const;

export const eventTypeCommands: Command = {
  name: "event-type",
  summary: "event types: the catalogue of the types that you send",
  commands: [
    {
      name: "list",
      summary: "list event types by name, without schemas and examples",
      options: {
        prefix: { value: "TEXT", help: "only names with this prefix" },
        deprecated: { help: "only deprecated types" },
        current: { help: "only types that are not deprecated" },
        names: { help: "print names only, one per line" },
      },
      run: list,
    },
    {
      name: "get",
      words: "<event-type>",
      summary: "show an event type with its schema and its example",
      options: {
        only: { value: "PART", choices: parts, help: "print only this part, as JSON" },
      },
      run: get,
    },
    {
      name: "put",
      words: "<event-type>",
      summary: "create an event type, or replace an existing one",
      details: "Omitted fields become empty. Repeating the command changes nothing.",
      options: {
        description: { value: "TEXT", help: "meaning of the event" },
        group: { value: "TEXT", help: "heading to list it under, such as Orders" },
        schema: { value: "FILE", help: "JSON Schema of the payload; - is standard input" },
        example: { value: "FILE", help: "sample payload; - is standard input" },
        deprecated: { help: "mark it as deprecated" },
      },
      run: put,
    },
    {
      name: "deprecate",
      words: "<event-type>",
      summary: "deprecate an event type; its other fields stay",
      options: { undo: { help: "remove the deprecation" } },
      run: deprecate,
    },
    {
      name: "delete",
      words: "<event-type>",
      summary: "delete an event type; targets that name it keep the name",
      options: { yes: { help: "confirm" } },
      run: remove,
    },
    {
      name: "import",
      words: "<file>",
      summary: "create event types from the webhooks of an OpenAPI document (JSON or YAML)",
      details:
        "Types that the document does not contain stay. A webhook that cannot become a type is left out, and the exit code is 1.",
      options: { "dry-run": { help: "only show what would change" } },
      run: importDocument,
    },
  ],
};

async function list({ out, connect }: Session, input: Input): Promise<void> {
  const [isDeprecated, isCurrent] = [input.flag("deprecated"), input.flag("current")];
  if (isDeprecated && isCurrent) throw new UsageError("use either --deprecated or --current");
  const { client } = await connect();
  const deprecated = isDeprecated || isCurrent ? (`${isDeprecated}` as const) : undefined;
  const filter = { prefix: input.text("prefix"), deprecated };
  const rows = await firstOf(client.allEventTypes(filter));
  if (input.flag("names")) {
    for (const { name } of rows) out.line({ name }, plain(name));
    return;
  }
  out.list(rows, ["name", "group", "deprecated", "updated_at", "description"]);
  if (rows.length === 0) out.say("no event types found; create one with postrider event-type put");
}

async function get({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const type = await client.readEventType(input.words[0]!);
  const part = parts.find((one) => one === input.text("only"));
  if (part === undefined) out.one(type);
  else out.raw(`${JSON.stringify(type[part], null, out.isJson ? undefined : 2)}\n`);
}

async function put({ out, stdin, connect }: Session, input: Input): Promise<void> {
  const schema = input.text("schema");
  const example = input.text("example");
  checkStandardInput(input, [schema, example], "a part of the event type");
  const { client } = await connect();
  const body: EventTypeInput = {
    description: input.text("description") ?? "",
    group: input.text("group") ?? "",
    deprecated: input.flag("deprecated"),
    schema: schema === undefined ? null : await readGivenObject(stdin, schema, "the schema"),
    example: example === undefined ? null : await readGivenJson(stdin, example, "the example"),
  };
  out.one(await client.putEventType(input.words[0]!, body));
}

async function deprecate({ out, connect }: Session, input: Input): Promise<void> {
  const { client } = await connect();
  const [name] = input.words as [string];
  const { description, group, schema, example } = await client.readEventType(name);
  const deprecated = !input.flag("undo");
  out.one(await client.putEventType(name, { description, group, schema, example, deprecated }));
}

async function remove({ out, connect }: Session, input: Input): Promise<void> {
  if (!input.flag("yes")) {
    throw new UsageError(
      "a deleted event type cannot be restored: add --yes to delete it, or deprecate it instead",
    );
  }
  const { client } = await connect();
  const [name] = input.words as [string];
  const { naming_targets } = await client.deleteEventType(name);
  out.one({ name, deleted: true, naming_targets });
}

async function importDocument({ out, stdin, connect }: Session, input: Input): Promise<void> {
  const [file] = input.words as [string];
  checkStandardInput(input, [file], "the document");
  const { client } = await connect();
  const document = await readDocument(stdin, file);
  const isDryRun = input.flag("dry-run");
  const imported = await client.importEventTypes(document, { dry_run: isDryRun ? "true" : "false" });
  if (out.isJson) out.one(imported);
  else showImported(out, imported);
  const { refused } = imported;
  for (const { name, reason } of refused) out.say(`${plain(name)} is refused: ${plain(reason)}`);
  if (refused.length > 0) throw new CommandError(`${refused.length} of the document's webhooks were refused`);
}

/** Reads a document: JSON is parsed here; any other text is sent as it is, and the service parses it as YAML. */
async function readDocument(
  stdin: Session["stdin"],
  file: string,
): Promise<Record<string, unknown> | string> {
  const text = textOf(await readGiven(stdin, file, "the document"));
  try {
    return parseExactly(text) as Record<string, unknown>;
  } catch {
    return text;
  }
}

/** Decodes UTF-8. @throws {UsageError} for other encodings, whose characters would otherwise be stored as U+FFFD. */
function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new UsageError("the document is not UTF-8: save it as UTF-8", { cause });
  }
}

function showImported(out: Output, imported: ImportedEventTypes): void {
  for (const what of ["created", "updated", "unchanged"] as const) {
    for (const name of imported[what]) out.line({}, `${what.padEnd(9)}  ${plain(name)}`);
  }
  if (imported.dry_run) out.say("nothing was changed");
}
