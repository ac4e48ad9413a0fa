import fc from "fast-check";
import { expect, it } from "vitest";
import { RowTap } from "./rowTap.ts";

/** A message of PostgreSQL's protocol: a letter, the length of the rest, and the rest. */
function message(letter: string, body: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.write(letter, 0, "latin1");
  head.writeUInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

it("takes rows while a reader is set, and passes all other messages on whole and in order, however the bytes are cut", () => {
  const anyMessage = fc.record({
    letter: fc.constantFrom("D", "D", "C", "Z", "N", "T"),
    body: fc.uint8Array({ maxLength: 200 }),
  });
  fc.assert(
    fc.property(
      fc.array(anyMessage, { maxLength: 30 }),
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }),
      (messages, cuts) => {
        const tap = new RowTap();
        const seen: string[] = [];
        const reader = {
          readRow(bytes: Buffer, at: number): void {
            const end = at - 4 + bytes.readUInt32BE(at - 4);
            seen.push(`row ${bytes.toString("hex", at, end)}`);
          },
        };
        tap.rest.on("data", (bytes: Buffer) => {
          for (let at = 0; at < bytes.length;) {
            const end = at + 1 + bytes.readUInt32BE(at + 1);
            expect(end).toBeLessThanOrEqual(bytes.length);
            seen.push(`${bytes.toString("latin1", at, at + 1)} ${bytes.toString("hex", at + 5, end)}`);
            at = end;
          }
        });
        // The reader changes only between two answers, never within one.
        let cut = 0;
        const expected: string[] = [];
        for (const wants of [true, false, true]) {
          tap.reader = wants ? reader : null;
          const bytes = Buffer.concat(messages.map(({ letter, body }) => message(letter, body)));
          for (let at = 0; at < bytes.length;) {
            const length = cuts[cut++ % cuts.length]!;
            tap.take(bytes.subarray(at, at + length));
            at += length;
          }
          for (const { letter, body } of messages) {
            const isTaken = letter === "D" && wants;
            expected.push(`${isTaken ? "row" : letter} ${Buffer.from(body).toString("hex")}`);
          }
        }
        expect(seen).toEqual(expected);
      },
    ),
  );
});
