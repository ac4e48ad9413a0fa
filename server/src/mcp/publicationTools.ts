import { type Static, Type } from "typebox";
import { eventStatuses } from "../items/eventStatuses.ts";
import { handOver, itemFields } from "./itemTools.ts";
import { Id, MaybeMoment, Moment, Name, Notice, notice, Status, Text } from "./schemas.ts";
import { changes, defineTool, read, reads, type Tool } from "./tool.ts";
import { fieldsOf, nullable } from "../http/contract/schemas.ts";

/** The most items that one answer names. */
const mostItemsShown = 100;

const AcceptedItem = Type.Object({ id: Type.String(), target_id: Type.String(), status: Type.String() });

const publish = defineTool(
  {
    name: "publish",
    description: `Hand one payload to every target of a customer that takes its type: an item for each, all of them or none. Without customer_uid it goes to the targets that belong to no customer. Each item is billed. The answer names at most ${mostItemsShown} of the items; read_publication shows what becomes of them.`,
    annotations: changes("Publish to all targets", { openWorldHint: true }),
    input: {
      customer_uid: Type.Optional(
        Type.String({
          // The uid becomes a path segment: "." and ".." would name another path.
          pattern: "^(?!\\.\\.?$)[A-Za-z0-9._:-]{1,128}$",
          description: "The organization's own id of the customer",
        }),
      ),
      ...itemFields,
      idempotency_key: Type.Optional(
        Name("Names this publication: sent again with the same key and payload it stays one"),
      ),
    },
    output: {
      id: Type.String({ description: "The publication's" }),
      item_count: Type.Integer({ description: "0: no target takes it" }),
      items: Type.Array(AcceptedItem),
    },
  },
  async (input, context) => {
    const path = input.customer_uid === undefined ? "/p" : `/p/${input.customer_uid}`;
    const { id, items } = await handOver<{ id: string; items: Static<typeof AcceptedItem>[] }>(
      context,
      path,
      input,
    );
    return { id, item_count: items.length, items: items.slice(0, mostItemsShown) };
  },
);

const Item = Type.Object({
  id: Type.String(),
  target_id: Type.String(),
  status: Type.String(),
  attempts: Type.Integer(),
  last_status_code: nullable(Type.Integer()),
  next_attempt_at: MaybeMoment,
  latest_replay: nullable(Type.Object({ id: Type.String(), status: Type.String() })),
});

const Publication = Type.Object({
  id: Type.String(),
  customer_uid: Text,
  event_type: Text,
  correlation_id: Text,
  item_count: Type.Integer(),
  created_at: Moment,
});

const Counts = Type.Object(
  Object.fromEntries(eventStatuses.map((status) => [status, Type.Optional(Type.Integer())])),
  { description: "How many items stand how, whether they are shown or not" },
);

interface PublicationAnswer {
  publication: Record<string, unknown> & {
    items: (Record<string, unknown> & { endpoint_id: string; status: string })[];
  };
}

const readPublication = defineTool(
  {
    name: "read_publication",
    description: `Read where a publication went and what became of each of its items, of which at most ${mostItemsShown} are shown: with status those that stand so. get_item reads one with its attempts.`,
    annotations: reads("Read a publication"),
    input: { id: Id("From publish"), status: Type.Optional(Status) },
    output: { notice: Notice, publication: Publication, counts: Counts, items: Type.Array(Item) },
  },
  async ({ id, status }, context) => {
    const { publication } = await read<PublicationAnswer>(context, `/api/v1/publications/${id}`);
    const counts: Record<string, number> = {};
    for (const item of publication.items) counts[item.status] = (counts[item.status] ?? 0) + 1;
    const shown = publication.items.filter((item) => status === undefined || item.status === status);
    return {
      notice,
      publication: fieldsOf(Publication, publication),
      counts,
      items: shown
        .slice(0, mostItemsShown)
        .map((item) => fieldsOf(Item, { ...item, target_id: item.endpoint_id })),
    };
  },
);

/** Tools that publish to many targets with one call, and show the state of a publication. */
export const publicationTools: readonly Tool[] = [publish, readPublication];
