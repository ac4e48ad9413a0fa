import pg from "pg";
import { createDeadlines } from "../net/deadlines.ts";
import type { BinaryParameter } from "./binaryArray.ts";
import { queryTimeoutMs } from "./pool.ts";

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
  readonly stream: { write(bytes: Buffer): boolean };
}

/**
 * Calls a function of the hot path and gives its rows. The driver gathers a call from many small buffers and
 * copies each parameter twice; here the whole call is one message, written once into memory that is used again.
 * @throws The driver's errors, as `pool.query` does.
 */
export async function callFunction<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  call: FunctionCall,
): Promise<R[]> {
  const query = new pg.Query<R>({ name: call.name, text: call.text });
  // Not in submit: what is thrown there ends the process.
  const message = writeCall(call);
  query.submit = (submitted) => {
    const connection = submitted as unknown as PreparingConnection;
    if (connection.parsedStatements[call.name] === undefined) connection.parse(call);
    connection.stream.write(message);
  };
  const deadline = { timeoutMs: queryTimeoutMs, expiresAtMs: 0, expire: () => giveUp(query) };
  deadlines.add(deadline);
  const rows = await rowsOf<R>(pool, query).finally(() => deadlines.remove(deadline));
  // An answer says that the server has read all of the message. Without one the driver may still hold it.
  giveBack(message);
  return rows;
}

/** The pool gives a promise here too; the types know only of streams. */
async function rowsOf<R extends pg.QueryResultRow>(pool: pg.Pool, query: pg.Submittable): Promise<R[]> {
  return (await (pool.query(query) as unknown as Promise<pg.QueryResult<R>>)).rows;
}

const deadlines = createDeadlines();

/** Ends a call that the server does not answer; the pool closes the connection. Nothing to do while it waits for one. */
function giveUp(query: unknown): void {
  (query as { callback?: (error: Error) => void }).callback?.(new Error("Query read timeout"));
}

/*
 * Bind to the unnamed portal, Describe, Execute and Sync, in one piece
 * (PostgreSQL documentation, "Frontend/Backend Protocol", message formats).
 */
const bindCode = 0x42;
const afterBind = Buffer.concat([
  Buffer.from([0x44, 0, 0, 0, 6, 0x50, 0]),
  Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]),
  Buffer.from([0x53, 0, 0, 0, 4]),
]);
const binaryFormat = 1;

function writeCall(call: FunctionCall): Buffer {
  const values = call.values.map(textOrBinary);
  const nameBytes = Buffer.byteLength(call.name) + 1;
  let bindBytes = 4 + 1 + nameBytes + 2 + values.length * 6 + 2 + 2;
  for (const value of values) bindBytes += sizeOf(value);
  const out = take(1 + bindBytes + afterBind.length);
  let at = out.writeUInt8(bindCode, 0);
  at = out.writeInt32BE(bindBytes, at);
  at = out.writeUInt8(0, at);
  at += out.write(`${call.name}\0`, at);
  at = out.writeInt16BE(values.length, at);
  for (const value of values) at = out.writeInt16BE(isBinary(value) ? binaryFormat : 0, at);
  at = out.writeInt16BE(values.length, at);
  for (const value of values) at = writeValue(out, value, at);
  // Results in text format.
  at = out.writeInt16BE(0, at);
  afterBind.copy(out, at);
  return out.subarray(0, at + afterBind.length);
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
