import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { readSecretLine } from "./readSecretLine.ts";

/** A terminal that records whether it echoes input. */
function terminal(seen: string[]) {
  const setRawMode = (isRaw: boolean): void => void seen.push(isRaw ? "hidden" : "shown");
  return Object.assign(new PassThrough(), { isTTY: true, setRawMode });
}

it("prompts on a terminal after turning echo off, and turns echo on again afterwards", async () => {
  const seen: string[] = [];
  const input = terminal(seen);
  const line = readSecretLine(input, (text) => seen.push(text));
  input.write("correct horse\r");
  expect(await line).toBe("correct horse");
  expect(seen).toEqual(["hidden", "New password (not shown): ", "shown", "\n"]);
});

it("ends when Ctrl-C is typed", async () => {
  const seen: string[] = [];
  const input = terminal(seen);
  const line = readSecretLine(input, () => undefined);
  input.write("\u0003");
  await expect(line).rejects.toThrow("has no password");
  expect(seen).toEqual(["hidden", "shown"]);
});

it("reads one line from a pipe, with or without a line end, and writes no prompt", async () => {
  for (const text of ["correct horse", "correct horse\n", "correct horse\r\n"]) {
    const input = Object.assign(new PassThrough(), { isTTY: false });
    input.end(text);
    const prompted: string[] = [];
    expect(await readSecretLine(input, (prompt) => prompted.push(prompt))).toBe("correct horse");
    expect(prompted).toEqual([]);
  }
});

it("refuses input that is not UTF-8, such as a letter from a Latin-1 terminal", async () => {
  const input = Object.assign(new PassThrough(), { isTTY: false });
  input.end(Buffer.from("correct hörse\n", "latin1"));
  await expect(readSecretLine(input, () => undefined)).rejects.toThrow("is not UTF-8");
});
