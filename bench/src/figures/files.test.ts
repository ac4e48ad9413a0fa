import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { figureFiles } from "./files.ts";
import { pageOf } from "./page.ts";
import type { FiguresRecord } from "./record.ts";

const root = join(import.meta.dirname, "../../..");
const record = JSON.parse(await readFile(join(root, "docs/figures/figures.json"), "utf8")) as FiguresRecord;
const page = await readFile(join(root, "docs/benchmarks.md"), "utf8");

test("charts and tables match the record of the run", async () => {
  const files = await figureFiles();
  for (const { path, text } of files) expect(text, path).toBe(await readFile(join(root, path), "utf8"));
  const charts = (await readdir(join(root, "docs/figures"))).filter((name) => name.endsWith(".svg"));
  expect(charts.map((name) => `docs/figures/${name}`).sort()).toEqual(
    files
      .map(({ path }) => path)
      .filter((path) => path.endsWith(".svg"))
      .sort(),
  );
  for (const name of charts) expect(page).toContain(`(figures/${name})`);
});

test("a table that was changed by hand is restored", () => {
  const changed = page.replace(/(<!-- figures: intake -->[^]*?\| )\d/, "$1999");
  expect(changed).not.toBe(page);
  expect(pageOf(changed, record)).toBe(page);
});

test("a page without all markers, or with markers of unknown figures, is refused", () => {
  expect(() => pageOf(page.replace("<!-- figures: drain -->", ""), record)).toThrow(
    "no markers for the figures drain",
  );
  expect(() => pageOf(`${page}\n<!-- figures: rain --><!-- end of figures -->`, record)).toThrow(
    'no figures "rain"',
  );
});
