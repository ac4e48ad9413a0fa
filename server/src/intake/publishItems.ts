import { isPulled, type KindNumber } from "../postgres/kinds.ts";
import type pg from "pg";
import type { Acceptance, HeldLease, NewContent, NewItem, RefusedItem } from "../items/item.ts";
import {
  boolArray,
  byteaArray,
  idArray,
  int2Array,
  int4Array,
  textArray,
  uuidArray,
  uuidBytesArray,
} from "../postgres/hot/binaryArray.ts";
import { callFunction } from "../postgres/hot/callFunction.ts";
import type { RowOf } from "../postgres/hot/functionCall.ts";
import { withPartitions } from "../postgres/partitions.ts";
import { hashCredential } from "../http/contract/credentials.ts";
import { bodyDigestOf, digestOf } from "./digests.ts";
import type { ItemSink } from "./dispatchAccepted.ts";

/** A publication, as it was posted. */
export interface NewPublication extends NewContent {
  /** Null publishes to the targets without a customer. */
  customerUid: string | null;
}

export interface PublishedItem {
  id: string;
  targetId: string;
  kind: KindNumber;
}

/** The outcome of a publication: accepted, accepted before under the same idempotency key (`replayed`), or refused. */
export type Published =
  | { outcome: "accepted" | "replayed"; id: string; items: PublishedItem[] }
  | { outcome: Refusal }
  | { outcome: "too_many_targets" }
  /** The target whose `max_payload_bytes` is exceeded. */
  | { outcome: "too_large"; targetId: string };

type Refusal = Exclude<RefusedItem["outcome"], "too_large">;

/** The most items that one publication may become. */
export const maxItems = 1_000;
/** The most items of a batch that are dispatched from memory. The others are claimed when they are due. */
const maxLeased = 2_048;

/** A publication with the result of each filter known for its targets, by the filter's digest. */
export interface MatchedPublication extends NewPublication {
  matches: ReadonlyMap<string, boolean>;
  /** The number of items that it probably becomes. */
  expectedItems: number;
}

/** The publication is not stored yet, because it has to be matched with these filters first. */
interface NotYet {
  outcome: "filters_changed";
  filters: string[];
}

/** The outcome of one publication of a batch. */
export interface StoredPublication {
  published: Published | NotYet;
  /** One for each new item. */
  acceptances: Acceptance[];
}

/** Accepts a batch of publications in one statement and one transaction. */
export async function publishItems(
  pool: pg.Pool,
  batch: readonly MatchedPublication[],
  { sink, lease }: { sink: ItemSink; lease: HeldLease },
): Promise<StoredPublication[]> {
  const rows = await withPartitions(pool, () =>
    callFunction(pool, "publish_items", {
      p_lease_ms: lease.durationMs,
      p_lease_token: lease.token,
      p_room: Math.min(maxLeased, sink.dispatcher.roomForPublications()),
      p_full_target_ids: idArray(sink.dispatcher.fullTargets()),
      p_most_items: maxItems,
      p_key_hashes: byteaArray(batch.map(({ key }) => hashCredential(key))),
      p_customers: textArray(batch.map(({ customerUid }) => customerUid)),
      p_payloads: byteaArray(batch.map(({ payload }) => payload)),
      p_sizes: int4Array(batch.map(({ payload }) => payload.length)),
      p_event_types: textArray(batch.map(({ eventType }) => eventType)),
      p_correlation_ids: textArray(batch.map(({ correlationId }) => correlationId)),
      p_ordering_keys: textArray(batch.map(({ orderingKey }) => orderingKey)),
      p_key_digests: uuidBytesArray(
        batch.map(({ idempotencyKey }) => (idempotencyKey === null ? null : digestOf(idempotencyKey))),
      ),
      p_body_digests: uuidBytesArray(batch.map(bodyDigestOf)),
      p_trace_contexts: byteaArray(batch.map(({ traceContext }) => traceContext)),
      ...matchArrays(batch),
    }),
  );
  const stored: StoredPublication[] = [];
  for (const row of rows) stored[row.number! - 1] = readStored(row, lease);
  return stored;
}

function matchArrays(batch: readonly MatchedPublication[]) {
  const matches = batch.flatMap((publication, index) =>
    [...publication.matches].map(([digest, isMatch]) => ({ number: index + 1, digest, isMatch })),
  );
  if (matches.length === 0)
    return { p_verdict_numbers: null, p_verdict_filters: null, p_verdict_passed: null };
  return {
    p_verdict_numbers: int2Array(matches.map(({ number }) => number)),
    p_verdict_filters: uuidArray(matches.map(({ digest }) => digest)),
    p_verdict_passed: boolArray(matches.map(({ isMatch }) => isMatch)),
  };
}

/** The codes of `publish_items` for refused publications. */
const refusals: Readonly<Record<string, Refusal | "too_many_targets">> = {
  u: "unauthorized",
  n: "not_found",
  c: "idempotency_conflict",
  s: "suspended",
  p: "pending",
  m: "too_many_targets",
};

function readStored(row: RowOf<"publish_items">, lease: HeldLease): StoredPublication {
  const code = row.code!;
  if (code === "l")
    return { published: { outcome: "too_large", targetId: row.target_ids![0]! }, acceptances: [] };
  if (code === "v") {
    const filters = (row.filters ?? []).filter((filter) => filter !== null);
    return { published: { outcome: "filters_changed", filters }, acceptances: [] };
  }
  const refusal = refusals[code];
  if (refusal !== undefined) return { published: { outcome: refusal }, acceptances: [] };
  const items = (row.item_ids ?? []).map((id, index) => ({
    id: id!,
    targetId: row.target_ids![index]!,
    kind: row.kinds![index]! as KindNumber,
  }));
  const id = row.publication_id!;
  if (code === "r") return { published: { outcome: "replayed", id, items }, acceptances: [] };
  return {
    published: { outcome: "accepted", id, items },
    acceptances: items.map((item, index) =>
      acceptanceOf(item, {
        state: row.states![index]!,
        targetVersion: row.versions![index]!,
        rowId: row.row_ids![index]!,
        lease,
      }),
    ),
  };
}

/** The state and row of an item that `publish_items` stored. */
interface Placed {
  /** The character of `publish_items` for the item's state. */
  state: string;
  targetVersion: number;
  rowId: string | null;
  lease: HeldLease;
}

function acceptanceOf(
  { id, kind }: PublishedItem,
  { state, targetVersion, rowId, lease }: Placed,
): Acceptance {
  if (isPulled(kind)) return { outcome: "unread", id, kind };
  if (state === "l") return { outcome: "leased", id, kind, rowId: rowId!, targetVersion, lease };
  return { outcome: state === "h" ? "held" : "due", id, kind };
}

/** An item of a publication, in the form that the dispatcher takes. */
export function asNewItem(publication: NewPublication, { id, targetId }: PublishedItem): NewItem {
  const { key, payload, eventType, correlationId, orderingKey, idempotencyKey, traceContext } = publication;
  return {
    id,
    targetId,
    key,
    legacy: false,
    payload,
    eventType,
    correlationId,
    orderingKey,
    idempotencyKey,
    traceContext,
    match: null,
  };
}
