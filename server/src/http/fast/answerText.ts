import { STATUS_CODES } from "node:http";
import type { FastAnswer } from "../contract/route.ts";

/**
 * The bytes of an answer as the framework would write them, header by header (RFC 9112, section 4).
 * @param bodyBytes The length of `answer.text` in UTF-8.
 * @param connection The value of the `Connection` header.
 */
export function answerText(
  requestId: string,
  { status, text, headers }: FastAnswer,
  bodyBytes: number,
  connection: string,
): string {
  let more = "";
  if (headers !== undefined) for (const [name, value] of headers) more += `${name}: ${value}\r\n`;
  return `${statusLine(status)}x-request-id: ${requestId}\r\nx-content-type-options: nosniff\r\n${more}content-type: application/json; charset=utf-8\r\ncontent-length: ${bodyBytes}\r\nDate: ${httpDate()}\r\nConnection: ${connection}\r\n\r\n${text}`;
}

const statusLines = new Map<number, string>();

function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) {
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    statusLines.set(status, line);
  }
  return line;
}

let dateSecond = 0;
let date = "";

/** RFC 9110, section 5.6.7; formatted once a second. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(second * 1000).toUTCString();
  }
  return date;
}
