import type pg from "pg";
import { createDeadlines, type DeadlinePlace, type Expiring } from "../../runtime/deadlines.ts";
import type { BinaryParameter } from "./binaryArray.ts";
import { type FieldReader, fieldReaderOf } from "./binaryRow.ts";
import { queryLimitOf } from "./queryLimit.ts";
import { unanswered } from "./queryTimeout.ts";
import { type RowReader, tapOf } from "./rowTap.ts";

/** A call of a SQL function as a named prepared statement. */
export interface FunctionCall {
  /** The statement's name, one for each text. */
  name: string;
  text: string;
  values: readonly (BinaryParameter | string | number | boolean | null)[];
}

/** What the driver keeps on a connection about its prepared statements, and its types leave out. */
interface PreparingConnection {
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  parse(statement: { name: string; text: string }): void;
  describe(statement: { type: "S"; name: string }): void;
  readonly stream: { write(bytes: Buffer): boolean };
}

/**
 * Calls a function of the hot path and gives its rows. The driver gathers a call from many small buffers and
 * copies each parameter twice; here the whole call is one message, written once into memory that is used again. Rows
 * come in binary form: see {@link fieldReaderOf} for the types they may have.
 * @throws The driver's errors, as `pool.query` does.
 */
export async function callFunction<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  call: FunctionCall,
): Promise<R[]> {
  // Not in submit: what is thrown there ends the process.
  const message = writeCall(call);
  const query = new CallQuery(call, message, queryLimitOf(pool));
  deadlines.add(query);
  try {
    // The pool gives a promise here too; the types know only of streams.
    await (pool.query(query as unknown as pg.Submittable) as unknown as Promise<unknown>);
  } finally {
    deadlines.remove(query);
  }
  // An answer says that the server has read all of the message. Without one the driver may still hold it.
  giveBack(message);
  return query.rows as R[];
}

const deadlines = createDeadlines();

/** A column of a function's rows. */
interface Column {
  name: string;
  read: FieldReader;
}

/**
 * By the statement's name, on the connection that prepared it: there the columns are the same in every call, or
 * PostgreSQL refuses it.
 */
const columnsOf = new WeakMap<PreparingConnection, Map<string, readonly Column[]>>();

/**
 * A call as the driver runs it (its `Submittable`). The driver's own query is an event emitter with a result that
 * learns its columns anew each time, and costs as much as the rest of a small call.
 */
class CallQuery implements Expiring, RowReader {
  readonly name: string;
  readonly text: string;
  readonly rows: Record<string, unknown>[] = [];
  readonly timeoutMs: number;
  place: DeadlinePlace | null = null;
  /** Set by the driver. */
  callback: ((error: Error | null, result?: unknown) => void) | null = null;
  readonly #message: Buffer;
  #known: Map<string, readonly Column[]> | undefined;
  #columns: readonly Column[] | undefined;
  #tap: { reader: RowReader | null } | undefined;
  /** Why the rows cannot be read. */
  #fault: unknown;

  constructor({ name, text }: FunctionCall, message: Buffer, timeoutMs: number) {
    this.timeoutMs = timeoutMs;
    this.name = name;
    this.text = text;
    this.#message = message;
  }

  /** Ends a call that the server does not answer; the pool closes the connection. */
  expire(): void {
    this.callback?.(new Error(unanswered));
  }

  submit(connection: PreparingConnection): void {
    this.#known = columnsOf.get(connection) ?? new Map<string, readonly Column[]>();
    columnsOf.set(connection, this.#known);
    this.#columns = this.#known.get(this.name);
    this.#tap = tapOf(connection);
    this.#tap.reader = this;
    if (connection.parsedStatements[this.name] === undefined) connection.parse(this);
    if (this.#columns === undefined) connection.describe({ type: "S", name: this.name });
    connection.stream.write(this.#message);
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    try {
      this.#columns = fields.map(({ name, dataTypeID }) => ({ name, read: fieldReaderOf(dataTypeID) }));
      this.#known?.set(this.name, this.#columns);
    } catch (error) {
      this.#fault = error;
    }
  }

  readRow(message: Buffer, start: number): void {
    const columns = this.#columns;
    if (columns === undefined) return;
    const row: Record<string, unknown> = {};
    // The number of fields, which is that of the columns.
    let at = start + 2;
    for (const { name, read } of columns) {
      const length = message.readInt32BE(at);
      at += 4;
      if (length === absent) {
        row[name] = null;
      } else {
        row[name] = read(message, at, length);
        at += length;
      }
    }
    this.rows.push(row);
  }

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handleReadyForQuery(): void {
    this.#close();
    if (this.#fault === undefined) this.callback?.(null, this);
    else this.callback?.(this.#fault as Error);
  }

  handleError(error: Error): void {
    this.#close();
    this.callback?.(error);
  }

  #close(): void {
    if (this.#tap?.reader === this) this.#tap.reader = null;
  }
}

/*
 * Bind to the unnamed portal, Execute and Sync, in one piece
 * (PostgreSQL documentation, "Frontend/Backend Protocol", message formats).
 */
const bindCode = 0x42;
const executeAndSync = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);
const binaryFormat = 1;
/** The length of a null. */
const absent = -1;

function writeCall(call: FunctionCall): Buffer {
  const values = call.values.map(textOrBinary);
  const nameBytes = Buffer.byteLength(call.name) + 1;
  let bindBytes = 4 + 1 + nameBytes + 2 + values.length * 6 + 2 + 2 + 2;
  for (const value of values) bindBytes += sizeOf(value);
  const out = take(1 + bindBytes + executeAndSync.length);
  let at = out.writeUInt8(bindCode, 0);
  at = out.writeInt32BE(bindBytes, at);
  at = out.writeUInt8(0, at);
  at += out.write(`${call.name}\0`, at);
  at = out.writeInt16BE(values.length, at);
  for (const value of values) at = out.writeInt16BE(isBinary(value) ? binaryFormat : 0, at);
  at = out.writeInt16BE(values.length, at);
  for (const value of values) at = writeValue(out, value, at);
  // One format for all columns.
  at = out.writeInt16BE(1, at);
  at = out.writeInt16BE(binaryFormat, at);
  executeAndSync.copy(out, at);
  return out.subarray(0, at + executeAndSync.length);
}

type Value = BinaryParameter | string | null;

/** PostgreSQL reads numbers and booleans as JavaScript writes them. */
function textOrBinary(value: FunctionCall["values"][number]): Value {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
}

function isBinary(value: Value): value is BinaryParameter {
  return value !== null && typeof value !== "string";
}

function sizeOf(value: Value): number {
  if (value === null) return 0;
  return typeof value === "string" ? Buffer.byteLength(value) : value.size;
}

function writeValue(out: Buffer, value: Value, start: number): number {
  const size = sizeOf(value);
  const at = out.writeInt32BE(value === null ? -1 : size, start);
  if (typeof value === "string") out.write(value, at);
  else value?.writeTo(out, at);
  return at + size;
}

/** Memory for messages, as much as calls were under way at once; what is larger is left to the collector. */
const keptBytes = 256 * 1024;
const maxKept = 8;
const kept: ArrayBufferLike[] = [];

function take(size: number): Buffer {
  if (size > keptBytes) return Buffer.allocUnsafeSlow(size);
  return Buffer.from(kept.pop() ?? new ArrayBuffer(keptBytes));
}

function giveBack(message: Buffer): void {
  if (message.buffer.byteLength === keptBytes && kept.length < maxKept) kept.push(message.buffer);
}
