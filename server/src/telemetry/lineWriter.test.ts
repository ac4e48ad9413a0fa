import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createLineWriter } from "./lineWriter.ts";

test("lines arrive complete and in order, whether written in the background or by flush", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lines-"));
  const path = join(folder, "log");
  const fd = openSync(path, "w");
  const writer = createLineWriter(fd);
  const lines = Array.from(
    { length: 7_000 },
    (_, number) => `{"number":${number},"text":"${"é".repeat(30)}"}\n`,
  );
  for (const line of lines.slice(0, 4_000)) writer.write(line);
  await vi.waitFor(() => expect(readFileSync(path, "utf8")).toBe(lines.slice(0, 4_000).join("")), {
    timeout: 30_000,
  });
  // Long enough that a write is running when the process ends.
  for (const line of lines.slice(4_000)) writer.write(line);
  await writer.flush();
  expect(readFileSync(path, "utf8")).toBe(lines.join(""));
  closeSync(fd);
  rmSync(folder, { recursive: true });
});
