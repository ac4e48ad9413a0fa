import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
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

/** The bytes that a pipe has now, at most `most`. */
function read(fd: number, most: number): string {
  const bytes = Buffer.alloc(most);
  let length = 0;
  try {
    while (length < most) {
      const got = readSync(fd, bytes, length, most - length, null);
      if (got === 0) break;
      length += got;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
  }
  return bytes.toString("utf8", 0, length);
}

test.runIf(process.platform === "linux")(
  "a log that can be written again says that lines were lost, and its lines are whole",
  async ({ onTestFinished }) => {
    const folder = mkdtempSync(join(tmpdir(), "lines-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "pipe");
    execFileSync("mkfifo", [path]);
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const writer = createLineWriter(fd);
    // More than a pipe holds.
    for (let number = 0; number < 200; number++)
      writer.write(`{"number":${number},"text":"${"x".repeat(1_000)}"}\n`);
    await vi.waitFor(() => expect(read(reader, 1)).toBe("{"), { timeout: 30_000 });
    closeSync(reader);
    await writer.flush();
    const next = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const before = read(next, 1_000_000);
    writer.write('{"number":"next"}\n');
    await writer.flush();
    const lines = `${before}${read(next, 1_000_000)}`.split("\n");
    expect(lines.slice(-3)).toEqual([
      '{"level":40,"msg":"log lines were lost because the log could not be written (EPIPE)"}',
      '{"number":"next"}',
      "",
    ]);
    for (const open of [next, fd]) closeSync(open);
  },
);
