import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { Command } from "../src/command.ts";
import { commands } from "../src/commands.ts";
import { clientFile, run } from "./support/command.ts";

/** All ways down the tree, the root's among them. */
function paths({ commands: below = [] }: Command, path: readonly string[] = []): (readonly string[])[] {
  return [path, ...below.flatMap((one) => paths(one, [...path, one.name]))];
}

function has(shell: string): boolean {
  return spawnSync(shell, ["--version"]).status === 0;
}

describe("help", () => {
  it.each(paths(commands).map((path) => [path.join(" "), path] as const))(
    "of postrider %s starts nothing and ends with 0",
    async (_name, path) => {
      const shown = await run([...path, "--help"], { env: { POSTRIDER_URL: "nonsense" } });
      expect([shown.code, shown.err]).toEqual([0, ""]);
      expect(shown.out.startsWith(`postrider ${path.join(" ")}`.trim())).toBe(true);
      expect((await run(["help", ...path])).out).toBe(shown.out);
    },
  );

  it("has lines that a terminal of 120 columns shows whole", async () => {
    for (const path of paths(commands)) {
      const { out } = await run([...path, "--help"]);
      expect(out.split("\n").filter((line) => line.length > 120)).toEqual([]);
    }
  });

  it("colours nothing that is not shown on a terminal, and the process says its version", () => {
    const { stdout, status } = spawnSync(process.execPath, [clientFile, "version", "--json"], {
      encoding: "utf8",
    });
    expect([status, JSON.parse(stdout)]).toEqual([0, { version: expect.stringMatching(/^\d+\.\d+\.\d+/) }]);
  });
});

describe("completion", () => {
  /** What bash offers for the words, of which the last is being typed. */
  async function offered(...words: string[]): Promise<string[]> {
    const { out } = await run(["completion", "bash"]);
    const quoted = words.map((word) => `'${word}'`).join(" ");
    const script = `${out}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _postrider; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8" });
    expect(stderr).toBe("");
    return stdout.split("\n").filter((line) => line !== "");
  }

  it.runIf(has("bash"))("of bash follows the tree", async () => {
    expect(await offered("postrider", "m")).toEqual(["mcp", "move", "mailbox"]);
    expect(await offered("postrider", "mailbox", "")).toEqual(
      expect.arrayContaining(["stats", "claim", "ack", "work", "--help"]),
    );
    expect(await offered("postrider", "listen", "inbox", "--fo")).toEqual(["--forward-to"]);
    expect(await offered("postrider", "item", "list", "--status", "DE")).toEqual(["DELIVERED", "DEAD"]);
  });

  it.each(["bash", "zsh", "fish"])("of %s is a script that the shell can read", async (shell) => {
    const { out, code } = await run(["completion", shell]);
    expect([code, out]).toEqual([0, expect.stringContaining("mailbox")]);
    if (!has(shell)) return;
    expect(spawnSync(shell, ["-n"], { input: out, encoding: "utf8" })).toMatchObject({
      status: 0,
      stderr: "",
    });
  });

  it("of another shell is refused", async () => {
    expect(await run(["completion", "dash"])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/bash, zsh, fish/),
    });
  });
});
