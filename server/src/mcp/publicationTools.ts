import { type Static, Type } from "typebox";
import { eventStatuses } from "../items/eventStatuses.ts";
import { handOver, itemFields } from "./itemTools.ts";
import { Id, Name, Notice, notice, Status } from "./schemas.ts";
import { changes, defineTool, read, reads, type Tool } from "./tool.ts";
import { fieldsOf, nullable, NullableString, Timestamp } from "../http/contract/schemas.ts";
import { textOf } from "../http/contract/textForms.ts";

/** The most items that one answer names. */
const mostItemsShown = 100;

const AcceptedItem = Type.Object({ id: Type.String(), target_id: Type.String(), status: Type.String() });

const publish = defineTool(
  {
    name: "publish",
    description: `Publish one payload to all targets of a customer whose event_types match. Each target gets an item; either all items are created or none. Without customer_uid, the payload goes to the targets that belong to no customer. Each item is billed. The response lists at most ${mostItemsShown} items; read_publication shows their status.`,
    annotations: changes("Publish to all targets", { openWorldHint: true }),
    input: {
      customer_uid: Type.Optional(
        textOf("pathUid", { description: "The organization's own id for the customer" }),
      ),
      ...itemFields,
      idempotency_key: Type.Optional(
        Name("Idempotency key: repeated requests with the same key and payload create only one publication"),
      ),
    },
    output: {
      id: Type.String({ description: "Id of the publication" }),
      item_count: Type.Integer({ description: "0: no target matched" }),
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
  next_attempt_at: nullable(Timestamp),
  latest_replay: nullable(Type.Object({ id: Type.String(), status: Type.String() })),
});

const Publication = Type.Object({
  id: Type.String(),
  customer_uid: NullableString,
  event_type: NullableString,
  correlation_id: NullableString,
  item_count: Type.Integer(),
  created_at: Timestamp,
});

const Counts = Type.Object(
  Object.fromEntries(eventStatuses.map((status) => [status, Type.Optional(Type.Integer())])),
  { description: "Number of items by status, including items that are not shown" },
);

interface PublicationAnswer {
  publication: Record<string, unknown> & {
    items: (Record<string, unknown> & { endpoint_id: string; status: string })[];
  };
}

const readPublication = defineTool(
  {
    name: "read_publication",
    description: `Read a publication, and the target and status of its items. At most ${mostItemsShown} items are shown; with status, only items with this status. get_item reads one item with its attempts.`,
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
