import { randomUUID } from "node:crypto";
import { eventId, numberDigits, runOf, timeDigits } from "./eventId.ts";

export interface PublishCall {
  url: string;
  method: string;
  /** Each is `name: value`. */
  headers: readonly string[];
  /** A template with `{{id}}`, `{{data}}`, `{{uuid}}` and `{{now}}`. */
  body: string;
}

/** Returns the bytes of the call for an event; `sentAtMs` is in milliseconds of the machine's monotonic clock. */
export type RequestWriter = (number: number, sentAtMs: number) => Buffer;

/** A request that differs from the requests of other events only in digits. */
export interface RequestTemplate {
  bytes: Buffer;
  /** Offsets at which the event's number begins; the time of sending follows it, see {@link eventId}. */
  digitsAt: number[];
}

/** The template of a call; undefined if its body has `{{uuid}}` or `{{now}}`. */
export function requestTemplate(
  call: PublishCall,
  run: string,
  dataBytes: number,
): RequestTemplate | undefined {
  if (/\{\{(uuid|now)\}\}/.test(call.body)) return undefined;
  const bytes = requestOf(call, dataBytes, eventId(run, 0, 0));
  const mark = runOf(run);
  const digitsAt: number[] = [];
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1))
    digitsAt.push(at + mark.length);
  return { bytes, digitsAt };
}

export function createRequestWriter(call: PublishCall, run: string, dataBytes: number): RequestWriter {
  const template = requestTemplate(call, run, dataBytes);
  if (template === undefined)
    return (number, sentAtMs) => requestOf(call, dataBytes, eventId(run, number, sentAtMs));
  return (number, sentAtMs) => {
    const bytes = Buffer.from(template.bytes);
    for (const at of template.digitsAt) {
      writeDigits(bytes, at, numberDigits, number);
      writeDigits(bytes, at + numberDigits + 1, timeDigits, Math.round(sentAtMs * 1_000));
    }
    return bytes;
  };
}

/** Fills the template: the id, `dataBytes` of data, a new UUID, the time in ISO 8601. */
function requestOf(call: PublishCall, dataBytes: number, id: string): Buffer {
  const body = call.body
    .replaceAll("{{data}}", "x".repeat(dataBytes))
    .replaceAll("{{id}}", id)
    .replaceAll("{{uuid}}", () => randomUUID())
    .replaceAll("{{now}}", () => new Date().toISOString());
  return Buffer.from(`${headOf(call)}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function headOf({ url, method, headers }: PublishCall): string {
  const { host, pathname, search } = new URL(url);
  const lines = headers.map((line) => {
    const at = line.indexOf(":");
    if (at < 1) throw new Error(`the header "${line}" is not of the form "name: value"`);
    return `${line.slice(0, at).trim()}: ${line.slice(at + 1).trim()}`;
  });
  if (!lines.some((line) => /^content-type:/i.test(line))) lines.unshift("content-type: application/json");
  return [`${method} ${pathname}${search} HTTP/1.1`, `host: ${host}`, ...lines, ""].join("\r\n");
}

const zero = 48;

function writeDigits(bytes: Buffer, at: number, count: number, value: number): void {
  for (let n = at + count - 1, left = value; n >= at; n--) {
    const rest = Math.floor(left / 10);
    bytes[n] = zero + left - rest * 10;
    left = rest;
  }
}
