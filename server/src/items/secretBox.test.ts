import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createSecretBox } from "./secretBox.ts";

const bytesArbitrary = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const current = Buffer.alloc(32, 1);
const former = Buffer.alloc(32, 2);

test("a sealed secret opens in its context", () => {
  const box = createSecretBox({ current });
  fc.assert(
    fc.property(bytesArbitrary, fc.string(), (plain, context) => {
      expect(box.open(box.seal(plain, context), context).equals(plain)).toBe(true);
    }),
  );
});

test("a sealed secret does not open in another context", () => {
  const box = createSecretBox({ current });
  fc.assert(
    fc.property(
      bytesArbitrary,
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: "grapheme" }),
      (plain, context, other) => {
        fc.pre(context !== other);
        expect(() => box.open(box.seal(plain, context), other)).toThrow(/belongs elsewhere/);
      },
    ),
  );
});

test("a sealed secret with a changed bit or a missing end does not open", () => {
  const box = createSecretBox({ current });
  const sealed = box.seal(randomBytes(20), "context");
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Buffer.from(sealed);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    expect(() => box.open(changed, "context")).toThrow(/^a sealed secret/);
  }
  for (let length = 0; length < sealed.length; length += 1) {
    expect(() => box.open(sealed.subarray(0, length), "context")).toThrow(/^a sealed secret/);
  }
});

test("equal secrets are sealed to different bytes, which do not contain the secret", () => {
  const box = createSecretBox({ current });
  const plain = Buffer.from("a very recognizable secret");
  const [one, two] = [box.seal(plain, "c"), box.seal(plain, "c")];
  expect(one.equals(two)).toBe(false);
  expect(one.includes(plain)).toBe(false);
});

test("after a rotation of the key, old seals still open, and new seals use the new key", () => {
  const before = createSecretBox({ current: former });
  const after = createSecretBox({ current, previous: [former] });
  const sealedBefore = before.seal(Buffer.from("old"), "c");
  expect(after.open(sealedBefore, "c").toString()).toBe("old");
  const sealedAfter = after.seal(Buffer.from("new"), "c");
  expect(createSecretBox({ current }).open(sealedAfter, "c").toString()).toBe("new");
  expect(() => before.open(sealedAfter, "c")).toThrow(/encryption key that is not configured/);
});

test("a key that is not 32 bytes long is refused", () => {
  expect(() => createSecretBox({ current: Buffer.alloc(16) })).toThrow("32 bytes, not 16");
  expect(() => createSecretBox({ current, previous: [Buffer.alloc(31)] })).toThrow("32 bytes, not 31");
});
