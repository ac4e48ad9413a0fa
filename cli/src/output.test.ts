import { expect, it } from "vitest";
import { createOutput } from "./output.ts";

it("prints a table of more rows than a call may have arguments", () => {
  let lines = 0;
  const stdout = { write: (text: string | Uint8Array) => (lines += String(text).split("\n").length - 1) };
  const out = createOutput({ stdout, stderr: stdout }, false, {});
  const rows = Array.from({ length: 200_000 }, (_, n) => ({ uid: `customer-${n}`, name: "Shop" }));
  out.list(rows, ["uid", "name"]);
  expect(lines).toBe(rows.length + 1);
});
