/*
 * Arrays in PostgreSQL's binary wire format. The server parses this format 1.5 to 1.8 times as fast as the text format, and
 * payload bytes need no escaping.
 *
 * Layout (src/backend/utils/adt/arrayfuncs.c, array_recv): number of dimensions, has-null flag, element type, then length and
 * lower bound of the dimension, then each element as its length and bytes; a null has length −1. Every function here takes at
 * least one element, because a batch is never empty.
 */

/** A parameter that knows its size and is written directly into the message that carries it. */
export interface BinaryParameter<T extends string> {
  /** The type's name in the catalogue; only for the compiler. */
  readonly type?: T;
  /** The value for the driver, which calls a method of this name (node-postgres, "Queries", parameters). */
  toPostgres(): unknown[];
  /** Bytes. */
  readonly size: number;
  /** Writes `size` bytes at offset `at`. */
  writeTo(out: Buffer, at: number): void;
}

const oid = { bool: 16, bytea: 17, int8: 20, int2: 21, int4: 23, text: 25, uuid: 2950 } as const;
const headerBytes = 20;
const lengthBytes = 4;
const uuidBytes = 16;
/** The length field of a null. */
const absent = -1;

/** `uuid[]` from ids of 32 hex characters; null stays null. */
export function uuidArray(ids: readonly (string | null)[]): BinaryParameter<"uuid[]"> {
  const nulls = ids.reduce((count, id) => (id === null ? count + 1 : count), 0);
  return {
    toPostgres: () => [...ids],
    size: headerBytes + ids.length * (lengthBytes + uuidBytes) - nulls * uuidBytes,
    writeTo(out, start) {
      let at = writeHead(out, start, oid.uuid, ids.length);
      if (nulls > 0) noteNulls(out, start);
      for (const id of ids) {
        at = out.writeInt32BE(id === null ? absent : uuidBytes, at);
        if (id !== null) at += out.write(id, at, uuidBytes, "hex");
      }
    },
  };
}

/**
 * `uuid[]` that may be empty, and is then the text `{}`, because an array without elements is never written in binary form;
 * null when absent.
 */
export function idArray(ids: readonly string[] | undefined): BinaryParameter<"uuid[]"> | "{}" | null {
  if (ids === undefined) return null;
  return ids.length === 0 ? "{}" : uuidArray(ids);
}

/** `uuid[]` from 16 bytes each; null stays null. */
export function uuidBytesArray(values: readonly (Uint8Array | null)[]): BinaryParameter<"uuid[]"> {
  return {
    ...arrayOf(oid.uuid, values, byteLengthOf, (out, value, at) => out.set(value, at)),
    toPostgres: () => values.map((value) => (value === null ? null : Buffer.from(value).toString("hex"))),
  };
}

/** `bytea[]`; null stays null. */
export function byteaArray(values: readonly (Uint8Array | null)[]): BinaryParameter<"bytea[]"> {
  return arrayOf(oid.bytea, values, byteLengthOf, (out, value, at) => out.set(value, at));
}

/** `text[]`, as UTF-8; null stays null. The caller has refused NUL characters, which PostgreSQL cannot store. */
export function textArray(values: readonly (string | null)[]): BinaryParameter<"text[]"> {
  return arrayOf(
    oid.text,
    values,
    (value) => Buffer.byteLength(value),
    (out, value, at) => out.write(value, at),
  );
}

/*
 * Each type of numbers has a loop of its own: most parameters of a hot call are written here, and the JIT compiler does not
 * inline a callback that a shared loop would call for each element.
 */

/** `smallint[]`. */
export function int2Array(values: readonly number[]): BinaryParameter<"int2[]"> {
  return {
    toPostgres: () => [...values],
    size: headerBytes + values.length * (lengthBytes + 2),
    writeTo(out, start) {
      let at = writeHead(out, start, oid.int2, values.length);
      for (const value of values) at = out.writeInt16BE(value, out.writeInt32BE(2, at));
    },
  };
}

/** `integer[]`. */
export function int4Array(values: readonly number[]): BinaryParameter<"int4[]"> {
  return {
    toPostgres: () => [...values],
    size: headerBytes + values.length * (lengthBytes + 4),
    writeTo(out, start) {
      let at = writeHead(out, start, oid.int4, values.length);
      for (const value of values) at = out.writeInt32BE(value, out.writeInt32BE(4, at));
    },
  };
}

/** `bigint[]` from whole numbers below 2^53. */
export function int8Array(values: readonly number[]): BinaryParameter<"int8[]"> {
  return {
    toPostgres: () => [...values],
    size: headerBytes + values.length * (lengthBytes + 8),
    writeTo(out, start) {
      let at = writeHead(out, start, oid.int8, values.length);
      for (const value of values) {
        at = out.writeInt32BE(8, at);
        at = out.writeInt32BE(Math.floor(value / 0x1_0000_0000), at);
        at = out.writeUInt32BE(value >>> 0, at);
      }
    },
  };
}

/** `boolean[]`. */
export function boolArray(values: readonly boolean[]): BinaryParameter<"bool[]"> {
  return {
    toPostgres: () => [...values],
    size: headerBytes + values.length * (lengthBytes + 1),
    writeTo(out, start) {
      let at = writeHead(out, start, oid.bool, values.length);
      for (const value of values) at = out.writeUInt8(value ? 1 : 0, out.writeInt32BE(1, at));
    },
  };
}

function arrayOf<T, N extends string>(
  elementOid: number,
  values: readonly (T | null)[],
  sizeOf: (value: T) => number,
  write: (out: Buffer, value: T, at: number) => unknown,
): BinaryParameter<N> {
  let size = headerBytes + values.length * lengthBytes;
  let hasNull = false;
  for (const value of values) {
    if (value === null) hasNull = true;
    else size += sizeOf(value);
  }
  return {
    toPostgres: () => [...values],
    size,
    writeTo(out, start) {
      let at = writeHead(out, start, elementOid, values.length);
      if (hasNull) noteNulls(out, start);
      for (const value of values) {
        if (value === null) {
          at = out.writeInt32BE(absent, at);
          continue;
        }
        const length = sizeOf(value);
        at = out.writeInt32BE(length, at);
        write(out, value, at);
        at += length;
      }
    },
  };
}

function byteLengthOf(value: Uint8Array): number {
  return value.length;
}

function noteNulls(out: Buffer, start: number): void {
  out.writeInt32BE(1, start + 4);
}

/** Writes the head of an array. @returns the offset of the first element. */
function writeHead(out: Buffer, start: number, elementOid: number, count: number): number {
  let at = out.writeInt32BE(1, start);
  at = out.writeInt32BE(0, at);
  at = out.writeInt32BE(elementOid, at);
  at = out.writeInt32BE(count, at);
  return out.writeInt32BE(1, at);
}
