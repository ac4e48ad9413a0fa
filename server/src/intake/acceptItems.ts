import { hash } from "node:crypto";
import type pg from "pg";
import { callFunction } from "../postgres/hot/callFunction.ts";
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
import type { Acceptance, AcceptanceCode, HeldLease, NewItem } from "../items/item.ts";
import { endsOf, type Group, groupItems } from "./groupItems.ts";

interface AcceptRow {
  codes: string | null;
  winners: string | null;
  pair_versions: string;
  pair_kinds: string;
  pair_held: string;
}

/**
 * Accepts a batch in one transaction, in one statement.
 * @param isImmediate Which items this node will dispatch itself; they are stored under `lease`.
 */
export async function acceptItems(
  pool: pg.Pool,
  items: readonly NewItem[],
  lease: HeldLease,
  isImmediate: (item: NewItem) => boolean,
): Promise<Acceptance[]> {
  const { pairNumbers, keyHashes, targetIds, legacy, largest } = numberPairs(items);
  const immediate = items.map(isImmediate);
  const groups = groupItems(items, pairNumbers, immediate);
  const hasKeys = items.some((item) => item.idempotencyKey !== null);
  const rows = await callFunction<AcceptRow>(pool, {
    name: "accept_items",
    text: "select codes, winners::text, pair_versions::text, pair_kinds::text, pair_held::text from accept_items($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)",
    values: [
      lease.durationMs,
      lease.token,
      byteaArray(keyHashes),
      uuidArray(targetIds),
      boolArray(legacy),
      int4Array(largest),
      int2Array(pairNumbers),
      uuidArray(items.map((item) => item.id)),
      uuidArray(groups.map((group) => group.id)),
      int2Array(endsOf(groups)),
      int2Array(groups.flatMap((group) => group.numbers)),
      boolArray(groups.map((group) => group.isImmediate)),
      int4Array(items.map((item) => item.payload.length)),
      byteaArray(items.map((item) => item.payload)),
      textColumn(items.map((item) => item.eventType)),
      textColumn(items.map((item) => item.correlationId)),
      textColumn(items.map((item) => item.orderingKey)),
      hasKeys ? uuidBytesArray(items.map(keyDigestOf)) : null,
      hasKeys ? uuidBytesArray(items.map(bodyDigestOf)) : null,
    ],
  });
  return readAcceptances(rows[0]!, items, { pairNumbers, groups, lease });
}

/** An absent array costs less than one of nulls. */
function textColumn(values: (string | null)[]): BinaryParameter | null {
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
}

/** The distinct (key, target) pairs of a batch: authorization runs once for each. */
function numberPairs(items: readonly NewItem[]): Pairs {
  const numbers = new Map<string, number>();
  const pairs: Pairs = { pairNumbers: [], keyHashes: [], targetIds: [], legacy: [], largest: [] };
  let previous: NewItem | undefined;
  let number = 0;
  for (const item of items) {
    // Neighbours often name the same pair, which is cheaper to see than to look up.
    if (previous === undefined || !isSamePair(item, previous)) {
      const name = `${item.key}${item.targetId}${item.legacy ? "e" : "t"}`;
      number = numbers.get(name) ?? 0;
      if (number === 0) {
        pairs.keyHashes.push(hash("sha256", item.key, "buffer"));
        pairs.targetIds.push(item.targetId);
        pairs.legacy.push(item.legacy);
        pairs.largest.push(0);
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
  return one.key === other.key && one.targetId === other.targetId && one.legacy === other.legacy;
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

function readAcceptances(
  row: AcceptRow,
  items: readonly NewItem[],
  { pairNumbers, groups, lease }: { pairNumbers: number[]; groups: Group[]; lease: HeldLease },
): Acceptance[] {
  const groupOf: Group[] = [];
  for (const group of groups) for (const number of group.numbers) groupOf[number - 1] = group;
  const versions = readArray(row.pair_versions).map(Number);
  const kinds = readArray(row.pair_kinds).map(Number) as Acceptance["kind"][];
  const held = readArray(row.pair_held);
  const winners = row.winners === null ? null : readArray(row.winners);
  return items.map((item, index) => {
    const pair = pairNumbers[index]! - 1;
    const kind = kinds[pair]!;
    const code = row.codes === null ? "a" : (row.codes[index] as AcceptanceCode);
    const group = groupOf[index]!;
    return {
      code: code === "a" && kind !== 2 ? waitingCode(held[pair] === "t", group) : code,
      id: code === "r" ? winners![index]!.replaceAll("-", "") : item.id,
      rowId: group.id,
      kind,
      targetVersion: versions[pair]!,
      lease,
    };
  });
}

function waitingCode(isHeld: boolean, { isImmediate }: Group): "a" | "A" | "h" {
  if (isHeld) return "h";
  return isImmediate ? "A" : "a";
}

/** A one-dimensional array of numbers, ids, booleans and nulls in PostgreSQL's text form. */
function readArray(text: string): string[] {
  return text.slice(1, -1).split(",");
}
