import type { BinaryParameter } from "./binaryArray.ts";
import type { FunctionCall } from "./functionCall.ts";

/*
 * A Bind message to the unnamed portal, Execute and Sync, in one buffer (PostgreSQL documentation, "Frontend/Backend
 * Protocol", message formats).
 */
const bindCode = 0x42;
const executeAndSync = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);
const binaryFormat = 1;
/** The length field of a null. */
const absent = -1;

/**
 * Writes Bind, Execute and Sync for the statement that is prepared under the call's name; columns are requested in binary
 * form.
 */
export function writeCall(call: FunctionCall): Buffer {
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

type Value = BinaryParameter<string> | Buffer | string | null;

/** PostgreSQL can parse numbers and booleans in the form in which JavaScript prints them. */
function textOrBinary(value: FunctionCall["values"][number]): Value {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
}

function isBinary(value: Value): value is BinaryParameter<string> | Buffer {
  return value !== null && typeof value !== "string";
}

function sizeOf(value: Value): number {
  if (value === null) return 0;
  if (Buffer.isBuffer(value)) return value.length;
  return typeof value === "string" ? Buffer.byteLength(value) : value.size;
}

function writeValue(out: Buffer, value: Value, start: number): number {
  const size = sizeOf(value);
  const at = out.writeInt32BE(value === null ? absent : size, start);
  if (typeof value === "string") out.write(value, at);
  else if (Buffer.isBuffer(value)) value.copy(out, at);
  else value?.writeTo(out, at);
  return at + size;
}

/** Size of a reusable message buffer; larger messages get memory of their own, which is left to the garbage collector. */
const keptBytes = 256 * 1024;
const maxKept = 8;
const kept: ArrayBufferLike[] = [];

function take(size: number): Buffer {
  if (size > keptBytes) return Buffer.allocUnsafeSlow(size);
  return Buffer.from(kept.pop() ?? new ArrayBuffer(keptBytes));
}

/** Returns the memory of a message that is no longer read, so that it can be reused. */
export function giveBack(message: Buffer): void {
  if (message.buffer.byteLength === keptBytes && kept.length < maxKept) kept.push(message.buffer);
}
