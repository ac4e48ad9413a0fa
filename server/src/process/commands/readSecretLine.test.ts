import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { readSecretLine } from "./readSecretLine.ts";

/** A terminal that writes down whether it shows what is typed. */
function terminal(seen: string[]) {
  const setRawMode = (isRaw: boolean): void => void seen.push(isRaw ? "hidden" : "shown");
  return Object.assign(new PassThrough(), { isTTY: true, setRawMode });
}

it("asks a terminal only once nothing of what is typed is shown, and shows again afterwards", async () => {
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

it("reads a line of what is no terminal, with or without its end, and asks for nothing", async () => {
  for (const text of ["correct horse", "correct horse\n", "correct horse\r\n"]) {
    const input = Object.assign(new PassThrough(), { isTTY: false });
    input.end(text);
    const prompted: string[] = [];
    expect(await readSecretLine(input, (prompt) => prompted.push(prompt))).toBe("correct horse");
    expect(prompted).toEqual([]);
  }
});

it("refuses what is not UTF-8, such as a letter of a terminal that uses Latin-1", async () => {
  const input = Object.assign(new PassThrough(), { isTTY: false });
  input.end(Buffer.from("correct hörse\n", "latin1"));
  await expect(readSecretLine(input, () => undefined)).rejects.toThrow("is not UTF-8");
});
