import { hash } from "node:crypto";
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
import type { Acceptance, HeldLease, NewItem, RefusedItem, UnjudgedItem } from "../items/item.ts";
import type { KindNumber } from "../items/kind.ts";
import { endsOf, type Group, groupItems } from "./groupItems.ts";

/**
 * Accepts a batch in one transaction, in one statement.
 * @param isImmediate Which items this node will dispatch itself; they are stored under `lease`.
 */
export async function acceptItems(
  pool: pg.Pool,
  items: readonly NewItem[],
  lease: HeldLease,
  isImmediate: (item: NewItem) => boolean,
): Promise<(Acceptance | UnjudgedItem)[]> {
  const { pairNumbers, keyHashes, targetIds, legacy, largest, filters } = numberPairs(items);
  const immediate = items.map(isImmediate);
  const groups = groupItems(items, pairNumbers, immediate);
  const isTraced = items.some((item) => item.traceContext !== null);
  const isJudged = items.some((item) => item.verdict !== null);
  const hasKeys = items.some((item) => item.idempotencyKey !== null);
  const rows = await withPartitions(pool, () =>
    callFunction(pool, "accept_items", {
      p_lease_ms: lease.durationMs,
      p_lease_token: lease.token,
      p_pair_key_hashes: byteaArray(keyHashes),
      p_pair_target_ids: uuidArray(targetIds),
      p_pair_legacy: boolArray(legacy),
      p_pair_largest: int4Array(largest),
      p_pair_filters: isJudged ? uuidArray(filters) : null,
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
      p_differs: isJudged ? boolArray(items.map((item) => item.verdict?.isPassed === false)) : null,
    }),
  );
  return readAcceptances(rows[0]!, items, { pairNumbers, groups, lease });
}

/** An absent array costs less than one of nulls. */
function textColumn(values: (string | null)[]): BinaryParameter<"text[]"> | null {
  return values.some((value) => value !== null) ? textArray(values) : null;
}

interface Pairs {
  /** 1-based, as SQL counts. */
  pairNumbers: number[];
  keyHashes: Buffer[];
  targetIds: string[];
  legacy: boolean[];
  /** Bytes of the largest payload. */
  largest: number[];
  /** What the items were judged by. */
  filters: (string | null)[];
}

/** The distinct (key, target, filter) of a batch: authorization runs once for each. */
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
    const filter = item.verdict?.filterDigest ?? null;
    // Neighbours often name the same pair, which is cheaper to see than to look up.
    if (previous === undefined || !isSamePair(item, previous)) {
      const name = `${item.key}${item.targetId}${item.legacy ? "e" : "t"}${filter ?? ""}`;
      number = numbers.get(name) ?? 0;
      if (number === 0) {
        pairs.keyHashes.push(hash("sha256", item.key, "buffer"));
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
    one.verdict?.filterDigest === other.verdict?.filterDigest
  );
}

const digestBytes = 16;

/** Of the key and its target, which is mixed in so that neither the table nor its index holds the target as well. */
function keyDigestOf({ idempotencyKey, targetId }: NewItem): Buffer | null {
  if (idempotencyKey === null) return null;
  const digest = digestOf(idempotencyKey);
  const target = Buffer.from(targetId, "hex");
  for (let index = 0; index < digestBytes; index++) digest[index]! ^= target[index]!;
  return digest;
}

function bodyDigestOf({ idempotencyKey, payload }: NewItem): Buffer | null {
  return idempotencyKey === null ? null : digestOf(payload);
}

function digestOf(data: string | Buffer): Buffer {
  return hash("sha256", data, "buffer").subarray(0, digestBytes);
}

/** The letters of `accept_items` for what it did not store. */
const refusals: Readonly<Record<string, RefusedItem["outcome"]>> = {
  u: "unauthorized",
  n: "not_found",
  c: "idempotency_conflict",
  d: "mailbox_disabled",
  l: "too_large",
  s: "suspended",
  p: "pending",
};

/** `codes` has a letter for each item, or is null when all were accepted. */
function readAcceptances(
  row: RowOf<"accept_items">,
  items: readonly NewItem[],
  { pairNumbers, groups, lease }: { pairNumbers: number[]; groups: Group[]; lease: HeldLease },
): (Acceptance | UnjudgedItem)[] {
  const groupOf: Group[] = [];
  for (const group of groups) for (const number of group.numbers) groupOf[number - 1] = group;
  const { codes, winners, pair_versions: versions, pair_kinds: kinds, pair_held: held } = row;
  return items.map(({ id }, index) => {
    const pair = pairNumbers[index]! - 1;
    const kind = kinds![pair] as KindNumber;
    const code = codes === null ? "a" : codes[index]!;
    const refusal = refusals[code];
    if (refusal !== undefined) return { outcome: refusal };
    if (code === "v") return { outcome: "unjudged", filter: row.pair_filters?.[pair] ?? null };
    if (code === "r") return { outcome: "replayed", id: winners![index]!, kind };
    if (code === "f") return { outcome: "filtered", id, kind };
    if (kind === 2) return { outcome: "unread", id, kind };
    if (held![pair] === true) return { outcome: "held", id, kind };
    const group = groupOf[index]!;
    if (!group.isImmediate) return { outcome: "due", id, kind };
    return { outcome: "leased", id, kind, rowId: group.id, targetVersion: versions![pair]!, lease };
  });
}
