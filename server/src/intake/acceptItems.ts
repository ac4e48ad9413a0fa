import { isPulled, type KindNumber } from "../postgres/kinds.ts";
import type pg from "pg";
import { callFunction } from "../postgres/hot/callFunction.ts";
import { withPartitions } from "../postgres/partitions.ts";
import type { RowOf } from "../postgres/hot/functionCall.ts";
import {
  type BinaryParameter,
  boolArray,
  byteaArray,
  int2Array,
  int4Array,
  textArray,
  uuidArray,
  uuidBytesArray,
} from "../postgres/hot/binaryArray.ts";
import type { Acceptance, HeldLease, NewItem, RefusedItem, UnmatchedItem } from "../items/item.ts";
import { hashCredential } from "../http/contract/credentials.ts";
import { bodyDigestOf, keyDigestOf } from "./digests.ts";
import { endsOf, type Group, groupItems } from "./groupItems.ts";

/**
 * Accepts a batch of items in one statement and one transaction.
 * @param isImmediate whether this node dispatches the item from memory; such items are stored under `lease`.
 */
export async function acceptItems(
  pool: pg.Pool,
  items: readonly NewItem[],
  lease: HeldLease,
  isImmediate: (item: NewItem) => boolean,
): Promise<(Acceptance | UnmatchedItem)[]> {
  const { pairNumbers, keyHashes, targetIds, legacy, largest, filters } = numberPairs(items);
  const immediate = items.map(isImmediate);
  const groups = groupItems(items, pairNumbers, immediate);
  const isTraced = items.some((item) => item.traceContext !== null);
  const isMatched = items.some((item) => item.match !== null);
  const hasKeys = items.some((item) => item.idempotencyKey !== null);
  const rows = await withPartitions(pool, () =>
    callFunction(pool, "accept_items", {
      p_lease_ms: lease.durationMs,
      p_lease_token: lease.token,
      p_pair_key_hashes: byteaArray(keyHashes),
      p_pair_target_ids: uuidArray(targetIds),
      p_pair_legacy: boolArray(legacy),
      p_pair_largest: int4Array(largest),
      p_pair_filters: isMatched ? uuidArray(filters) : null,
      p_pairs: int2Array(pairNumbers),
      p_ids: uuidArray(items.map((item) => item.id)),
      p_group_ids: uuidArray(groups.map((group) => group.id)),
      p_group_ends: int2Array(endsOf(groups)),
      p_group_items: int2Array(groups.flatMap((group) => group.numbers)),
      p_group_immediate: boolArray(groups.map((group) => group.isImmediate)),
      p_sizes: int4Array(items.map((item) => item.payload.length)),
      p_payloads: byteaArray(items.map((item) => item.payload)),
      p_event_types: textColumn(items.map((item) => item.eventType)),
      p_correlation_ids: textColumn(items.map((item) => item.correlationId)),
      p_ordering_keys: textColumn(items.map((item) => item.orderingKey)),
      p_key_digests: hasKeys ? uuidBytesArray(items.map(keyDigestOf)) : null,
      p_body_digests: hasKeys ? uuidBytesArray(items.map(bodyDigestOf)) : null,
      p_trace_contexts: isTraced ? byteaArray(items.map((item) => item.traceContext)) : null,
      p_differs: isMatched ? boolArray(items.map((item) => item.match?.isMatch === false)) : null,
    }),
  );
  return readAcceptances(rows[0]!, items, { pairNumbers, groups, lease });
}

/** Array parameter for a column; null if all values are null, because an array of nulls costs more. */
function textColumn(values: (string | null)[]): BinaryParameter<"text[]"> | null {
  return values.some((value) => value !== null) ? textArray(values) : null;
}

interface Pairs {
  /** For each item, the 1-based number of its pair. */
  pairNumbers: number[];
  keyHashes: Buffer[];
  targetIds: string[];
  legacy: boolean[];
  /** Bytes of the largest payload of each pair. */
  largest: number[];
  /** For each pair, the digest of the filter that its items were matched with. */
  filters: (string | null)[];
}

/** Numbers the distinct triples of key, target and filter in a batch. Authorization runs once for each. */
function numberPairs(items: readonly NewItem[]): Pairs {
  const numbers = new Map<string, number>();
  const pairs: Pairs = {
    pairNumbers: [],
    keyHashes: [],
    targetIds: [],
    legacy: [],
    largest: [],
    filters: [],
  };
  let previous: NewItem | undefined;
  let number = 0;
  for (const item of items) {
    const filter = item.match?.filterDigest ?? null;
    // Consecutive items often have the same pair; comparing is cheaper than the map.
    if (previous === undefined || !isSamePair(item, previous)) {
      const name = `${item.key}${item.targetId}${item.legacy ? "e" : "t"}${filter ?? ""}`;
      number = numbers.get(name) ?? 0;
      if (number === 0) {
        pairs.keyHashes.push(hashCredential(item.key));
        pairs.targetIds.push(item.targetId);
        pairs.legacy.push(item.legacy);
        pairs.largest.push(0);
        pairs.filters.push(filter);
        number = pairs.targetIds.length;
        numbers.set(name, number);
      }
      previous = item;
    }
    pairs.pairNumbers.push(number);
    pairs.largest[number - 1] = Math.max(pairs.largest[number - 1]!, item.payload.length);
  }
  return pairs;
}

function isSamePair(one: NewItem, other: NewItem): boolean {
  return (
    one.key === other.key &&
    one.targetId === other.targetId &&
    one.legacy === other.legacy &&
    one.match?.filterDigest === other.match?.filterDigest
  );
}

/** The codes of `accept_items` for refused items. */
const refusals: Readonly<Record<string, RefusedItem["outcome"]>> = {
  u: "unauthorized",
  n: "not_found",
  c: "idempotency_conflict",
  d: "mailbox_disabled",
  l: "too_large",
  s: "suspended",
  p: "pending",
};

/** Reads the answer of `accept_items`. Its `codes` has one character per item, or is null when all items were accepted. */
function readAcceptances(
  row: RowOf<"accept_items">,
  items: readonly NewItem[],
  { pairNumbers, groups, lease }: { pairNumbers: number[]; groups: Group[]; lease: HeldLease },
): (Acceptance | UnmatchedItem)[] {
  const groupOf: Group[] = [];
  for (const group of groups) for (const number of group.numbers) groupOf[number - 1] = group;
  const { codes, winners, pair_versions: versions, pair_kinds: kinds, pair_held: held } = row;
  return items.map(({ id }, index) => {
    const pair = pairNumbers[index]! - 1;
    const kind = kinds![pair] as KindNumber;
    const code = codes === null ? "a" : codes[index]!;
    const refusal = refusals[code];
    if (refusal !== undefined) return { outcome: refusal };
    if (code === "v") return { outcome: "filter_changed", filter: row.pair_filters?.[pair] ?? null };
    if (code === "r") return { outcome: "replayed", id: winners![index]!, kind };
    if (code === "f") return { outcome: "filtered", id, kind };
    if (isPulled(kind)) return { outcome: "unread", id, kind };
    if (held![pair] === true) return { outcome: "held", id, kind };
    const group = groupOf[index]!;
    if (!group.isImmediate) return { outcome: "due", id, kind };
    return { outcome: "leased", id, kind, rowId: group.id, targetVersion: versions![pair]!, lease };
  });
}
