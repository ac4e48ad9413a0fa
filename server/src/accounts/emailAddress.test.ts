import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emailKey, readEmail } from "./emailAddress.ts";

function parseEmail(text: string) {
  const read = readEmail(text);
  return read.ok ? read.value : undefined;
}

describe("readEmail", () => {
  it("keeps the address as written, and compares it trimmed and lower-cased", () => {
    expect(parseEmail("\t Ada.Lovelace+x@Example.COM \n")).toEqual({
      email: "Ada.Lovelace+x@Example.COM",
      key: "ada.lovelace+x@example.com",
      localPart: "Ada.Lovelace+x",
    });
  });

  it("takes exactly the texts with one @ between parts that contain no spaces, angle brackets, control or invisible characters", () => {
    const unfit = /[@\s<>\p{Cc}\p{Default_Ignorable_Code_Point}]/u;
    const part = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => !unfit.test(text));
    const ascii = fc.string({ unit: "grapheme-ascii", minLength: 1 }).filter((text) => !unfit.test(text));
    fc.assert(
      fc.property(part, ascii, (local, domain) => {
        expect(parseEmail(`${local}@${domain}`)?.localPart).toBe(local);
        for (const text of [local, `@${domain}`, `${local}@`, `${local}@${domain}@${domain}`]) {
          expect(parseEmail(text)).toBeUndefined();
        }
      }),
    );
    fc.assert(
      fc.property(
        part,
        ascii,
        fc.constantFrom(
          " ",
          "\t",
          "\n",
          "\u0000",
          "\u001b",
          "\u007f",
          "\u0085",
          "\u2028",
          "\u202e",
          "\u200f",
          "\u2066",
          "\u200b",
          "\u00ad",
          "<",
          ">",
        ),
        (a, b, bad) => {
          expect(parseEmail(`${a}${bad}${a}@${b}`)).toBeUndefined();
          expect(parseEmail(`${a}@${b}${bad}${b}`)).toBeUndefined();
        },
      ),
    );
  });

  it.for([
    "bücher.example",
    "BÜCHER.example",
    "straße.example",
    "xn--bcher-kva.example",
    "例え.example",
    "[127.0.0.1]",
  ])("takes the domain %s", (domain) => expect(parseEmail(`ada@${domain}`)?.email).toBe(`ada@${domain}`));

  it.for(["ｅxample.com", "example。com", "example．com", "ℯxample.com"])(
    "refuses the domain %s, which mail servers read as another one",
    (domain) => expect(parseEmail(`ada@${domain}`)).toBeUndefined(),
  );

  it("gives an address one key, however its letters are capitalized, and login computes the same key", () => {
    fc.assert(
      fc.property(fc.emailAddress(), (email) => {
        const key = parseEmail(email)?.key;
        expect(parseEmail(` ${email.toUpperCase()}`)?.key).toBe(key);
        expect(emailKey(`${email}\n`)).toBe(key);
      }),
    );
  });

  // If the time grew with the square of the length, the test would exceed its time limit.
  it("reads long texts in linear time", { timeout: 60_000 }, () => {
    expect(parseEmail(`${"a".repeat(2_000_000)}@`)).toBeUndefined();
    expect(parseEmail("@".repeat(2_000_000))).toBeUndefined();
  });
});
