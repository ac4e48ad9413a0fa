import type { Client, FilterResult } from "../../../sdk/src/client.ts";
import type { Command, Input } from "../command.ts";
import { CommandError, exitCodes, UsageError } from "../exitCodes.ts";
import { plain } from "../output.ts";
import { checkStandardInput, readGivenJson, readGivenObject } from "../readGiven.ts";
import type { Session } from "../session.ts";
import { targetId } from "./chooseTarget.ts";
import { itemOptions } from "./send.ts";

const { "event-type": eventType, "correlation-id": correlationId, "ordering-key": orderingKey } = itemOptions;

export const filterCommands: Command = {
  name: "filter",
  summary: "filters: select a target's items by their content",
  commands: [
    {
      name: "try",
      words: "<file>",
      summary: "try a filter on a JSON file, or standard input (-); nothing is sent",
      details:
        "Exit code 1: the item would be FILTERED; the output names the parts of the filter that do not match.",
      options: {
        target: { value: "TARGET", help: "use the filter of this target" },
        filter: { value: "FILE", help: "use the filter in this file, a JSON object; - is standard input" },
        "event-type": eventType!,
        "correlation-id": correlationId!,
        "ordering-key": { ...orderingKey!, help: "ordering key of the sample" },
      },
      run: tryFilter,
    },
  ],
};

async function tryFilter(session: Session, input: Input): Promise<void> {
  const [file] = input.words as [string];
  const given = input.text("filter");
  checkStandardInput(input, [file, given], "the sample");
  const { out, stdin, connect } = session;
  const target = input.text("target");
  if ((given === undefined) === (target === undefined))
    throw new UsageError("give one filter: --target or --filter");
  const { client } = await connect();
  const filter =
    given === undefined ? await filterOf(client, target!) : await readGivenObject(stdin, given, "the filter");
  const payload = await readGivenJson(stdin, file, "the sample");
  const result = await client.tryFilter({ filter, payload, ...metadataOf(input) });
  show(session, result);
  if (result.verdict === "differs") throw new CommandError("this item would be filtered");
  if (result.verdict === "undecided")
    out.say("the sample is too large to evaluate this filter: the item would be delivered");
}

async function filterOf(client: Client, named: string): Promise<Record<string, unknown>> {
  const { filter, name } = await client.readTarget(await targetId(client, named));
  if (filter) return filter;
  throw new CommandError(`"${name}" has no filter: it gets every item of its types`, exitCodes.conflict);
}

function metadataOf(input: Input): { event_type?: string; correlation_id?: string; ordering_key?: string } {
  const given = ["event-type", "correlation-id", "ordering-key"].flatMap((option) => {
    const value = input.text(option);
    return value === undefined ? [] : [[option.replace("-", "_"), value] as const];
  });
  return Object.fromEntries(given);
}

function show({ out }: Session, result: FilterResult): void {
  if (out.isJson) {
    out.one(result);
    return;
  }
  out.line({}, result.verdict);
  for (const { path, expected, found } of result.failed) {
    const there = found.length === 0 ? "nothing" : found.map((one) => plain(JSON.stringify(one))).join(", ");
    out.line({}, `${plain(path)}  expected ${plain(JSON.stringify(expected))}, found ${there}`);
  }
}
