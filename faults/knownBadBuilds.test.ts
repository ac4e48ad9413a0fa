import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mutants } from "./knownBadBuilds.ts";

const root = join(import.meta.dirname, "..");

describe("each planted fault", () => {
  it.each(mutants)('"$name" still finds the text that it replaces, and its test', async (mutant) => {
    for (const { file, find } of mutant.edits) {
      expect(await readFile(join(root, "server/src", file), "utf8")).toContain(find);
    }
    const testFile = join(root, `server/test/${mutant.test}.test.ts`);
    await access(testFile);
    expect(await readFile(testFile, "utf8")).toContain(mutant.pattern ?? "");
  });
});
