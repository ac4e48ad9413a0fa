import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Command } from "../src/command.ts";
import { commandFile } from "../../server/test/support/program.ts";
import { commands } from "../src/commands.ts";
import { clientFile, run } from "./support/command.ts";
import { hasShell, offeredBy } from "./support/shells.ts";

/** The paths of all commands in the tree, including the empty path of the root. */
function paths({ commands: below = [] }: Command, path: readonly string[] = []): (readonly string[])[] {
  return [path, ...below.flatMap((one) => paths(one, [...path, one.name]))];
}

describe("help", () => {
  it.each(paths(commands).map((path) => [path.join(" "), path] as const))(
    "of postrider %s calls no service and exits with 0",
    async (_name, path) => {
      const shown = await run([...path, "--help"], { env: { POSTRIDER_URL: "nonsense" } });
      expect([shown.code, shown.err]).toEqual([0, ""]);
      expect(shown.out.startsWith(`postrider ${path.join(" ")}`.trim())).toBe(true);
      expect((await run(["help", ...path])).out).toBe(shown.out);
    },
  );

  it("for an unknown command is an error that names the command", async () => {
    for (const words of [
      ["help", "sell"],
      ["sell", "--help"],
      ["help", "target", "sell"],
    ]) {
      expect(await run(words)).toMatchObject({ code: 2, err: expect.stringMatching(/no command ".*sell"/) });
    }
    expect((await run(["item", "show"])).err).toContain("commands of item: list, get, cancel, erase, tail");
    expect((await run(["--nonsense"])).err).toMatch(/postrider <command> --nonsense/);
  });

  it("has no line longer than 120 columns", async () => {
    for (const path of paths(commands)) {
      const { out } = await run([...path, "--help"]);
      expect(out.split("\n").filter((line) => line.length > 120)).toEqual([]);
    }
  });

  it.each(["db", "org"])("names every command and option of postrider %s that the service has", (name) => {
    const { stdout } = spawnSync(process.execPath, [commandFile, name, "--help"], { encoding: "utf8" });
    const lines = stdout.split("\n").filter((line) => line.startsWith(`  postrider ${name} `));
    const described = lines.map((line) => line.trim().split(" ")[2]!);
    const options = lines.flatMap((line) => [...line.matchAll(/--([a-z-]+)/g)].map(([, option]) => option!));
    const own = commands.commands!.find((command) => command.name === name)!;
    expect([...own.wordChoices!].toSorted()).toEqual([...new Set(described)].toSorted());
    expect(Object.keys(own.options!).toSorted()).toEqual([...new Set(options)].toSorted());
  });

  it("does not colour the version that the process prints to a pipe", () => {
    const { stdout, status } = spawnSync(process.execPath, [clientFile, "version", "--json"], {
      encoding: "utf8",
    });
    expect([status, JSON.parse(stdout)]).toEqual([0, { version: expect.stringMatching(/^\d+\.\d+\.\d+/) }]);
  });
});

describe("completion", () => {
  const place = mkdtempSync(join(tmpdir(), "postrider-completion-"));
  afterAll(() => rmSync(place, { recursive: true }));

  /** Creates a fake `postrider` that prints names, because the completion scripts call the command for them. */
  beforeAll(async () => {
    const listing = `#!/bin/sh
case "$*" in
"target list --names --kind mailbox") echo inbox ;;
"event-type list --names") echo order.paid ;;
"target list --names") printf '%s\\n' inbox 'orders of $(touch pwned) May' ;;
esac
`;
    writeFileSync(join(place, "postrider"), listing, { mode: 0o755 });
    writeFileSync(join(place, "order.json"), "{}");
    for (const shell of Object.keys(offeredBy)) {
      writeFileSync(join(place, shell), (await run(["completion", shell])).out);
    }
  });

  describe.each(Object.keys(offeredBy))("of %s", (shell) => {
    const offered = (line: string): string[] => [...new Set(offeredBy[shell]!(place, line))].sort();

    it.runIf(hasShell(shell))("offers subcommands, options and values of options", () => {
      expect(offered("postrider m")).toEqual(["mailbox", "mcp", "move"]);
      expect(offered("postrider tar")).toEqual(["target"]);
      expect(offered("postrider mailbox ").filter((word) => !word.startsWith("-"))).toEqual([
        "ack",
        "claim",
        "stats",
        "work",
      ]);
      expect(offered("postrider listen inbox --fo")).toEqual(["--forward-to"]);
      expect(offered("postrider item list --status DE")).toEqual(["DEAD", "DELIVERED"]);
      expect(offered("postrider event-type get a --only ").sort()).toEqual(["example", "schema"]);
      expect(offered("postrider completion ").filter((word) => !word.startsWith("-"))).toEqual([
        "bash",
        "fish",
        "zsh",
      ]);
    });

    it.runIf(hasShell(shell))(
      "offers names of targets, mailboxes and event types, and does not execute shell code in them",
      () => {
        const [mine, theirs] = offered("postrider send ").filter((word) => /^(inbox|orders)/.test(word));
        expect([mine, theirs?.replaceAll("\\", "")]).toEqual(["inbox", "orders of $(touch pwned) May"]);
        expect(offered("postrider listen ").filter((word) => !word.startsWith("-"))).toEqual(["inbox"]);
        expect(offered("postrider item list --target in")).toEqual(["inbox"]);
        expect(offered("postrider event-type get ord")).toEqual(["order.paid"]);
        expect(offered("postrider item list --event-type ord")).toEqual(["order.paid"]);
        expect(existsSync(join(place, "pwned"))).toBe(false);
      },
    );
  });

  it("of another shell is refused", async () => {
    expect(await run(["completion", "dash"])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/bash, zsh, fish/),
    });
  });
});
