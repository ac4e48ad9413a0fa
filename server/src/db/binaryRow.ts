/*
 * Fields of a row in PostgreSQL's binary wire format. Numbers and ids are read where they lie; the text format would
 * make a string of each first, and payloads would come in hex or be checked for their encoding once more.
 */

/** Reads one field of `length` bytes at `at`. */
export type FieldReader = (row: Buffer, at: number, length: number) => unknown;

/** By the type's oid (src/include/catalog/pg_type.dat), for the types that hot functions give. */
const readers: Readonly<Record<number, FieldReader | undefined>> = {
  /** bool */
  16: (row, at) => row[at] === 1,
  /** bytea; copied, so that a small value does not hold all that came with it in memory. */
  17: (row, at, length) => {
    const bytes = Buffer.allocUnsafe(length);
    row.copy(bytes, 0, at, at + length);
    return bytes;
  },
  /** int8, all of which are below 2^53 here. */
  20: (row, at) => row.readInt32BE(at) * 0x1_0000_0000 + row.readUInt32BE(at + 4),
  /** int2 */
  21: (row, at) => row.readInt16BE(at),
  /** int4 */
  23: (row, at) => row.readInt32BE(at),
  /** text */
  25: (row, at, length) => row.toString("utf8", at, at + length),
  /** void */
  2278: () => null,
  /** uuid, as ids are in the interface: 32 hex characters. */
  2950: (row, at) => row.toString("hex", at, at + uuidBytes),
  /** uuid[], of one dimension */
  2951: readUuids,
};

const uuidBytes = 16;

/** The layout is that of a parameter: see binaryArray.ts. */
function readUuids(row: Buffer, start: number): (string | null)[] {
  const ids: (string | null)[] = [];
  // An empty array has no dimension, and nothing after its head.
  const count = row.readInt32BE(start) === 0 ? 0 : row.readInt32BE(start + 12);
  for (let index = 0, at = start + 20; index < count; index++) {
    const length = row.readInt32BE(at);
    at += 4;
    if (length < 0) {
      ids.push(null);
    } else {
      ids.push(row.toString("hex", at, at + length));
      at += length;
    }
  }
  return ids;
}

/** @throws Error for a type that no hot function gives. */
export function fieldReaderOf(oid: number): FieldReader {
  const reader = readers[oid];
  if (reader === undefined)
    throw new Error(`columns of the type with oid ${oid} cannot be read in binary form`);
  return reader;
}
