import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { openApi } from "./support/contract.ts";

const docs = join(import.meta.dirname, "../../docs");
let page: string;
let rows: { claim: string; path: string; title: string }[];

beforeAll(async () => {
  page = await readFile(join(docs, "interface-coverage.md"), "utf8");
  rows = [...page.matchAll(/^\| (.*?) *\| \[[\w-]+\]\((\S+)\) *\| (.+?) *\|$/gm)].map(
    ([, claim = "", path = "", title = ""]) => ({ claim, path, title }),
  );
});

/** A test's title as it stands in its file. */
function isTitled(text: string, title: string): boolean {
  return ['"', "`", "'"].some((quote) => text.includes(`${quote}${title}${quote}`));
}

describe("the page of the interface's coverage", () => {
  it("names tests that exist", async () => {
    expect(rows.length).toBeGreaterThan(100);
    const missing: string[] = [];
    for (const { path, title } of rows) {
      const text = await readFile(join(docs, path), "utf8").catch(() => "");
      if (!isTitled(text, title)) missing.push(`${path}: ${title}`);
    }
    expect(missing).toEqual([]);
  });

  it("has a test for every row", () => {
    const tableRows = page
      .split("\n")
      .filter((line) => line.startsWith("| ") && !/^\| (-|Interface )/.test(line));
    expect(tableRows).toHaveLength(rows.length);
    expect(rows[0]!.claim).not.toBe("");
  });

  it("has a row for every route under /api/v1 that the contract names, and for both of ingestion", () => {
    const named = rows.flatMap(
      ({ claim }) => /^(GET|POST|PATCH|DELETE) (\/\S+)/.exec(claim)?.slice(1, 3).join(" ") ?? [],
    );
    const served = Object.entries(openApi.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
    );
    expect(named.filter((route) => !served.includes(route))).toEqual([]);
    expect(new Set(named).size).toBe(39);
  });
});
