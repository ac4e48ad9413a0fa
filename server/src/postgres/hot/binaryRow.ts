/*
 * Fields of a row in PostgreSQL's binary wire format. Numbers and ids are read directly from the bytes. The text format would
 * need a string for each of them first, and payloads would be in hex, or their encoding would be checked again.
 */

/** Reads one field of `length` bytes at offset `at`. */
export type FieldReader = (row: Buffer, at: number, length: number) => unknown;

/** By the type's oid (src/include/catalog/pg_type.dat), for the types that hot functions return. */
const readers: Readonly<Record<number, FieldReader | undefined>> = {
  /** bool */
  16: (row, at) => row[at] === 1,
  /** bytea */
  17: readBytes,
  /** int8; all values are below 2^53 here. */
  20: readInt8,
  /** int2 */
  21: (row, at) => row.readInt16BE(at),
  /** int4 */
  23: (row, at) => row.readInt32BE(at),
  /** text */
  25: (row, at, length) => row.toString("utf8", at, at + length),
  /** float8 */
  701: (row, at) => row.readDoubleBE(at),
  /** bool[]; all arrays here have one dimension. */
  1000: (row, at) => readArray(row, at, (bytes, start) => bytes[start] === 1),
  /** bytea[] */
  1001: (row, at) => readArray(row, at, readBytes),
  /** int2[] */
  1005: (row, at) => readArray(row, at, (bytes, start) => bytes.readInt16BE(start)),
  /** int4[] */
  1007: (row, at) => readArray(row, at, (bytes, start) => bytes.readInt32BE(start)),
  /** text[] */
  1009: readTexts,
  /** int8[] */
  1016: (row, at) => readArray(row, at, readInt8),
  /** void */
  2278: () => null,
  /** uuid, in the interface's form of ids: 32 hex characters. */
  2950: readUuid,
  /** uuid[] */
  2951: (row, at) => readArray(row, at, readUuid),
};

const uuidBytes = 16;

function readInt8(row: Buffer, at: number): number {
  return row.readInt32BE(at) * 0x1_0000_0000 + row.readUInt32BE(at + 4);
}

function readUuid(row: Buffer, at: number): string {
  return row.toString("hex", at, at + uuidBytes);
}

/** Copies the bytes, so that a small value does not keep the whole network chunk in memory. */
function readBytes(row: Buffer, at: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  row.copy(bytes, 0, at, at + length);
  return bytes;
}

/** Reads an array in the layout of binaryArray.ts. */
function readArray<T>(
  row: Buffer,
  start: number,
  read: (row: Buffer, at: number, length: number) => T,
): (T | null)[] {
  const values: (T | null)[] = [];
  // An empty array has no dimension, and nothing follows its head.
  const count = row.readInt32BE(start) === 0 ? 0 : row.readInt32BE(start + 12);
  for (let index = 0, at = start + 20; index < count; index++) {
    const length = row.readInt32BE(at);
    at += 4;
    if (length < 0) {
      values.push(null);
    } else {
      values.push(read(row, at, length));
      at += length;
    }
  }
  return values;
}

/** Equal neighbours, which are frequent, share one string. */
function readTexts(row: Buffer, start: number): (string | null)[] {
  let lastAt = 0;
  let lastLength = -1;
  let last = "";
  return readArray(row, start, (_, at, length) => {
    if (length !== lastLength || !isSame(row, at, lastAt, length)) {
      last = row.toString("utf8", at, at + length);
      lastLength = length;
    }
    lastAt = at;
    return last;
  });
}

function isSame(row: Buffer, one: number, other: number, length: number): boolean {
  for (let index = 0; index < length; index++) {
    if (row[one + index] !== row[other + index]) return false;
  }
  return true;
}

/**
 * Reads the values of a composite, by the names of its fields. The values have their types with them: the number of fields,
 * and for each field the type's oid, the length and the bytes (record_send in src/backend/utils/adt/rowtypes.c).
 */
export function compositeReader(fields: readonly string[]): FieldReader {
  return (row, start) => {
    const values: Record<string, unknown> = {};
    let at = start + 4;
    for (const field of fields) {
      const length = row.readInt32BE(at + 4);
      const oid = row.readInt32BE(at);
      at += 8;
      if (length < 0) {
        values[field] = null;
      } else {
        values[field] = fieldReaderOf(oid)(row, at, length);
        at += length;
      }
    }
    return values;
  };
}

/** @throws {Error} for a type that no hot function returns. */
export function fieldReaderOf(oid: number): FieldReader {
  const reader = readers[oid];
  if (reader === undefined)
    throw new Error(`columns of the type with oid ${oid} cannot be read in binary form`);
  return reader;
}
