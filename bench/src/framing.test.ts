import { expect, test } from "vitest";
import { createFramer } from "./framing.ts";

/** The bodies of the messages, when the text arrives in pieces of `pieceBytes`. */
function bodies(text: string, pieceBytes: number): string[] {
  const found: string[] = [];
  const framer = createFramer(({ bytes, bodyAt }) => found.push(bytes.toString("latin1", bodyAt)), 0);
  for (let at = 0; at < text.length; at += pieceBytes)
    framer(Buffer.from(text.slice(at, at + pieceBytes), "latin1"));
  return found;
}

const short = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nx-a: 1\r\n\r\n{}";
/** As long as the head of `short`, with another header where `short` has the length. */
const moved = "HTTP/1.1 202 Accepted\r\nx-a: 1234567890\r\ncontent-length: 11\r\n\r\n";
const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
const bodiless = "HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n";
const sequence = [short, bodiless, short, chunked, `${moved}hello world`, bodiless, short].join("");

test.each([1, 3, 50, 10_000])("finds each message when it arrives in pieces of %i bytes", (pieceBytes) => {
  expect(bodies(sequence, pieceBytes)).toEqual([
    "{}",
    "",
    "{}",
    "3\r\nabc\r\n0\r\n\r\n",
    "hello world",
    "",
    "{}",
  ]);
});

test("does not read another header as the length where the head before had its length", () => {
  const first = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-bbbbbbbbbbb: 9\r\n\r\n{}";
  const second = "HTTP/1.1 200 OK\r\nx-bbbbbbbbbbb: 9\r\ncontent-length: 2\r\n\r\n[]";
  expect(bodies(first + second, 1_000)).toEqual(["{}", "[]"]);
});

test("refuses a message of unknown length", () => {
  expect(() => createFramer(() => undefined)(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"))).toThrow(
    "neither a content-length nor chunks",
  );
});
