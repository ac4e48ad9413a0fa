import type { Command, Input } from "../command.ts";
import { UsageError } from "../exitCodes.ts";
import { type Output, plain } from "../output.ts";
import type { Session } from "../session.ts";
import { firstOf, limitOf, limitOption } from "./listed.ts";
import { itemOf, itemOptions } from "./send.ts";

export const publishCommand: Command = {
  name: "publish",
  words: "<file>",
  summary: "send a JSON file, or standard input (-), to all targets of a customer",
  details:
    "It becomes an item for each target whose types and filter match, all of them or none. Without --customer it goes to\nthe targets that belong to no customer. Failed requests are repeated with the same idempotency key.",
  options: {
    customer: { value: "CUSTOMER", help: "your own id of the customer" },
    ...itemOptions,
  },
  run: publish,
};

const replayedTo = ["failed", "added"] as const;

export const publicationCommands: Command = {
  name: "publication",
  summary: "publications: items sent to many targets with one call",
  commands: [
    {
      name: "list",
      summary: "list publications, newest first",
      options: {
        customer: { value: "CUSTOMER", help: "only publications to this customer" },
        limit: limitOption,
      },
      run: list,
    },
    {
      name: "get",
      words: "<publication>",
      summary: "show a publication and the status of each of its items",
      run: get,
    },
    {
      name: "replay",
      words: "<publication>",
      summary: "send a publication again",
      details:
        "failed: sends again to targets whose item failed, free of charge, unless a replay of it waits or succeeded.\nadded: creates new items, which are billed, for targets added since.",
      options: {
        to: {
          value: "TARGETS",
          choices: replayedTo,
          help: "which targets; required",
        },
      },
      run: replay,
    },
  ],
};

async function publish({ out, stdin, connect }: Session, input: Input): Promise<void> {
  const { read, options } = itemOf(stdin, input, input.words[0]!);
  const { client } = await connect();
  const body = await read();
  const customer = input.text("customer");
  const published =
    customer === undefined
      ? await client.publish(body, options)
      : await client.publishToCustomer(customer, body, options);
  if (out.isJson) {
    out.one(published);
    return;
  }
  out.one({ id: published.id, items: published.items.length });
  showRows(out, published.items, ["id", "target_id", "status"]);
}

async function list({ out, connect }: Session, input: Input): Promise<void> {
  const limit = limitOf(input);
  const { client } = await connect();
  const filter = { customer_uid: input.text("customer") };
  const rows = await firstOf(client.allPublications(filter), limit);
  out.list(rows, ["id", "created_at", "customer_uid", "item_count", "event_type"]);
}

async function get({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  const { publication } = await client.readPublication(words[0]!);
  if (out.isJson) {
    out.one(publication);
    return;
  }
  const { items, ...facts } = publication;
  out.one(facts);
  const rows = items.map((item) =>
    Object.assign(item, { target_id: item.endpoint_id, replayed: item.latest_replay?.status }),
  );
  showRows(out, rows, [
    "id",
    "target_id",
    "status",
    "attempts",
    "last_status_code",
    "next_attempt_at",
    "replayed",
  ]);
}

async function replay({ out, connect }: Session, input: Input): Promise<void> {
  const to = replayedTo.find((whom) => whom === input.text("to"));
  if (to === undefined) throw new UsageError(`--to is missing: ${replayedTo.join(" or ")}`);
  const { client } = await connect();
  const { items, skipped } = await client.replayPublication(input.words[0]!, { to });
  if (out.isJson) {
    out.one({ items, skipped });
    return;
  }
  for (const { id, target_id, status, source_event_id } of items)
    out.line({}, `${source_event_id ?? target_id} -> ${id}  ${status}`);
  for (const { event_id, reason } of skipped) out.say(`${event_id} is left out: ${plain(reason)}`);
  if (items.length === 0) out.say("nothing was sent");
}

function showRows(out: Output, rows: readonly object[], columns: readonly string[]): void {
  if (rows.length === 0) return;
  out.raw("\n");
  out.list(rows, columns);
}
