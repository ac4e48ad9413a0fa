import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { backgrounds, contrastOf, readableColour } from "../src/portal/readableColour.ts";

const themes = ["light", "dark"] as const;

it("the portal's accent is readable whatever colour the organization chooses", () => {
  const colour = fc
    .integer({ min: 0, max: 0xffffff })
    .map((value) => `#${value.toString(16).padStart(6, "0")}`);
  fc.assert(
    fc.property(colour, fc.constantFrom(...themes), (given, theme) => {
      const { accent, onAccent } = readableColour(given, theme);
      for (const background of backgrounds[theme]) {
        expect(contrastOf(accent, background)).toBeGreaterThanOrEqual(4.5);
      }
      expect(contrastOf(onAccent, accent)).toBeGreaterThanOrEqual(4.5);
    }),
  );
});

it("a readable colour is not changed", () => {
  expect(readableColour("#0b6e4f", "light")).toEqual({ accent: "#0b6e4f", onAccent: "#ffffff" });
  expect(readableColour("#ffee58", "dark")).toEqual({ accent: "#ffee58", onAccent: "#000000" });
});

it("the backgrounds are those of style.css", async () => {
  const style = await readFile(join(import.meta.dirname, "../src/style.css"), "utf8");
  const [light, dark] = ["canvas", "surface", "sunken"]
    .map((name) =>
      [...style.matchAll(new RegExp(`--${name}: (#[0-9a-f]{6});`, "g"))].map(([, value]) => value),
    )
    .reduce<[string[], string[]]>(
      ([l, d], [one, other]) => [
        [...l, one!],
        [...d, other!],
      ],
      [[], []],
    );
  expect(new Set(backgrounds.light)).toEqual(new Set(light));
  expect(new Set(backgrounds.dark)).toEqual(new Set(dark));
});
