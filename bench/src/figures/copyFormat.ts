/*
 * PostgreSQL's binary format of COPY (https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format"): it costs the
 * server less than text.
 */

/** The header of a stream of rows: the signature, no flags, no extension. */
export const copyStart = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");
export const copyEnd = int2(-1);

/** The offset of a row's first field, after the number of fields and the field's length. */
export const firstFieldAt = 6;

export function row(fields: readonly Buffer[]): Buffer {
  return Buffer.concat([int2(fields.length), ...fields.flatMap((field) => [int4(field.length), field])]);
}

/** Oids from src/include/catalog/pg_type.dat. */
const oids = { int8: 20, int2: 21, int4: 23, uuid: 2950 };

/** An array of one dimension without nulls. */
export function array(type: keyof typeof oids, elements: readonly Buffer[]): Buffer {
  const head = [1, 0, oids[type], elements.length, 1].map(int4);
  return Buffer.concat([...head, ...elements.flatMap((element) => [int4(element.length), element])]);
}

export function int2(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int4(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function int8(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}
