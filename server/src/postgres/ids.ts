import { randomFillSync } from "node:crypto";

const randomPool = Buffer.allocUnsafe(16_384);
let randomOffset = randomPool.length;

/**
 * A new id: a UUIDv7 (RFC 9562, section 5.7) as 32 lower-case hex characters. The first 48 bits are
 * `nowMs`, the last byte is `bucket` (0–255), the remaining 66 bits are random. Items take the bucket of
 * their target, so that all of a target's rows live together.
 */
export function newId(bucket: number, nowMs: number): string {
  if (randomOffset + 9 > randomPool.length) {
    randomFillSync(randomPool);
    randomOffset = 0;
  }
  const at = randomOffset;
  randomOffset += 9;
  randomPool[at] = (randomPool[at]! & 0x0f) | 0x70;
  randomPool[at + 2] = (randomPool[at + 2]! & 0x3f) | 0x80;
  const random = randomPool.toString("hex", at, at + 9);
  return timeDigits(nowMs) + random + bucketDigits[bucket]!;
}

/**
 * The lowest id, which no record has. A path without a valid id is looked up with this id, so that the credential is still
 * checked; keyset pagination begins after it.
 */
export const unknownId = "0".repeat(32);

const bucketDigits = Array.from({ length: 256 }, (_, bucket) => bucket.toString(16).padStart(2, "0"));

let lastMs = -1;
let lastDigits = "";

/** The first 12 hex digits of an id. Formatted once per millisecond, because formatting large numbers in base 16 is slow. */
function timeDigits(nowMs: number): string {
  if (nowMs !== lastMs) {
    lastMs = nowMs;
    lastDigits = nowMs.toString(16).padStart(12, "0");
  }
  return lastDigits;
}

/** A new id with a random bucket, for a record that takes its bucket from no other: an organization, a user, a key. */
export function newRootId(nowMs: number): string {
  randomRoot[0] = 0;
  randomFillSync(randomRoot);
  return newId(randomRoot[0], nowMs);
}

const randomRoot = Buffer.alloc(1);

/** Number of buckets in the smallest cell: the data plane can be divided into 16 cells (`docs/scaling.md`). */
const bucketsOfCell = 16;

/**
 * A new id for a target, with a random one of the 16 buckets in the organization's cell, so that everything that belongs to
 * an organization can be kept on one server.
 */
export function newTargetId(orgId: string, nowMs: number): string {
  randomFillSync(randomRoot);
  const inCell = randomRoot[0]! % bucketsOfCell;
  return newId(bucketOf(orgId) - (bucketOf(orgId) % bucketsOfCell) + inCell, nowMs);
}

/** The bucket (0–255) that an id carries in its last byte. */
export function bucketOf(id: string): number {
  return Number.parseInt(id.slice(30), 16);
}

/** The time at which an id was created, in Unix milliseconds. */
export function idTimeMs(id: string): number {
  let ms = 0;
  // Called for every delivery; slicing the digits and parsing them costs several times as much.
  for (let index = 0; index < 12; index++) ms = ms * 16 + digitOf(id.charCodeAt(index));
  return ms;
}

/** @param code the character code of a hex digit: 0 to 9, a to f or A to F. */
function digitOf(code: number): number {
  return code < 58 ? code - 48 : (code | 32) - 87;
}

const slotMs = 1_024;

/**
 * The slot of an id: the number of the 1,024 ms in which it was created. Only items of one slot share a row of `deliveries`,
 * so that a row belongs to one day, and a page of a list knows how far the ids of two rows can overlap. `slot_of` in SQL.
 */
export function slotOf(id: string): number {
  const digits = id.slice(0, 12);
  if (digits !== lastSlotDigits) {
    lastSlotDigits = digits;
    lastSlot = Math.floor(idTimeMs(id) / slotMs);
  }
  return lastSlot;
}

let lastSlotDigits = "";
let lastSlot = 0;

/** The largest id of the slot of an id. */
export function lastIdOfSlot(id: string): string {
  const lastMs = (slotOf(id) + 1) * slotMs - 1;
  return lastMs.toString(16).padStart(12, "0") + "f".repeat(20);
}

/** The smallest possible id of a time in Unix milliseconds; used as a bound of partitions and of keyset pages. */
export function firstIdAt(timeMs: number): string {
  return timeMs.toString(16).padStart(12, "0") + "0".repeat(20);
}

/** The cursors and times (in Unix seconds) with which a request restricts a list, where given. */
interface AskedRange {
  after?: string | undefined;
  before?: string | undefined;
  created_after?: number | undefined;
  created_before?: number | undefined;
}

/**
 * The exclusive bounds of the requested ids. The smallest id of a time is no real id, because a real one has the version
 * digit after the time.
 */
export function idRange({ after, before, created_after: from, created_before: until }: AskedRange) {
  const moments = [from, until].map((seconds) =>
    seconds === undefined ? undefined : firstIdAt(seconds * 1000),
  );
  const given = (...ids: (string | undefined)[]): string[] => ids.filter((id) => id !== undefined).sort();
  return { above: given(after, moments[0]).at(-1), below: given(before, moments[1])[0] };
}

/** Whether a text is an id: 32 lower-case hex characters. */
export function isId(text: string): boolean {
  return idPattern.test(text);
}

const idPattern = /^[0-9a-f]{32}$/;
