import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { commandFile, plainEnvironment } from "./support/program.ts";

const place = mkdtempSync(join(tmpdir(), "postrider-node-"));
const dataDir = join(place, "data");
const sentence = /^postrider: this is Node (\S+), and Postrider needs Node 24 or newer\. .*npx --yes node@26/;

/** Versions of Node on this machine that are too old for the service. */
const oldNodes = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .filter((file) => existsSync(file) && Number.parseInt(versionOf(file), 10) < 24);

function versionOf(node: string): string {
  return spawnSync(node, ["-p", "process.versions.node"], { encoding: "utf8" }).stdout;
}

function run(
  args: readonly string[],
  node: readonly string[] = [process.execPath],
): { code: number | null; out: string; err: string } {
  const [file, ...before] = node;
  const { status, stdout, stderr } = spawnSync(file!, [...before, commandFile, ...args], {
    encoding: "utf8",
    env: { ...plainEnvironment(), POSTRIDER_DATA_DIR: dataDir },
  });
  return { code: status, out: stdout, err: stderr };
}

afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("an old Node", () => {
  it("gets an error message", () => {
    const pretend = join(place, "pretend.cjs");
    writeFileSync(pretend, `Object.defineProperty(process.versions, "node", { value: "18.20.4" });`);
    const { code, err } = run(["serve"], [process.execPath, "--require", pretend]);
    expect([code, sentence.exec(err)?.[1]]).toEqual([1, "18.20.4"]);
    expect(err.trim().split("\n")).toHaveLength(1);
  });

  it.runIf(oldNodes.length > 0)("of this machine gets it, too", () => {
    const { code, err } = run(["serve"], [oldNodes[0]!]);
    expect(code).toBe(1);
    expect(err).toMatch(sentence);
  });
});

describe("a command that only prints text", () => {
  it.each([
    [["help"], 0, /^ {2}serve +run the service$/m],
    [["serve", "--help"], 0, /postrider serve/],
    [["org", "--help"], 0, /^postrider org: organizations/],
    [["org", "create", "--help"], 0, /org create <name>/],
    [["reset-password", "--help"], 0, /^postrider reset-password: .+\n\n.+<email>.+\n$/],
    [["mcp", "--help"], 0, /^postrider mcp: .+\n\n {2}postrider mcp \[--server URL\]/],
    [["backup", "--help"], 0, /postrider backup <file>/],
    [["help", "move"], 0, /postrider move \[--stop-service\]/],
    [["version"], 0, /^\d+\.\d+\.\d+$/m],
  ] as const)("%j starts no database", (args, code, text) => {
    const result = run(args);
    expect([result.code, result.err]).toEqual([code, ""]);
    expect(result.out).toMatch(text);
    expect(existsSync(dataDir)).toBe(false);
  });

  it.each([
    [["org", "sell"], /there is no command "org sell"/],
    [["org", "create"], /name/],
    [["org", "create", "Acme", "--colour", "red"], /--colour/],
    [["serve", "--colour"], /--colour/],
    [["serve", "--roles", ""], /--roles names no role/],
  ] as const)("%j is an invalid command: exit code 2, its usage, and no database", (args, text) => {
    const { code, err } = run(args);
    expect(code).toBe(2);
    expect(err).toMatch(text);
    expect(err).toMatch(args[0] === "org" ? /postrider org create <name>/ : /postrider serve \[--roles/);
    expect(err.split("\n").length).toBeLessThan(12);
    expect(existsSync(dataDir)).toBe(false);
  });
});
