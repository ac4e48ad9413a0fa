import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect } from "vitest";
import { blocksOf, type DocumentedBlock, root, runBlocks } from "./support/documentedCommands.ts";
import { sharedStartedNodeTest } from "./support/fixtures.ts";
import { signUp } from "./support/testNode.ts";

const it = sharedStartedNodeTest();

/** Every page; commands are checked by the words after `sh`. */
const pages = (
  await Array.fromAsync(
    glob("**/*.md", { cwd: root, exclude: (path) => /(^|\/)(node_modules|dist|data|\.[^/]+)$/.test(path) }),
  )
)
  .map((path) => path.replaceAll("\\", "/"))
  .sort();
/** These pages are tested by `cli/test/documented-commands-work.test.ts`. */
const ofCommandLine = ["docs/backup.md", "docs/command-line.md"];
const blocks = (
  await Promise.all(pages.filter((page) => !ofCommandLine.includes(page)).map(blocksOf))
).flat();
const toRun = Map.groupBy(
  blocks.filter(({ mark }) => mark.startsWith("run")),
  ({ page }) => page,
);
const hasTools = ["bash", "curl", "jq"].every((tool) => spawnSync(tool, ["--version"]).status === 0);

describe("commands in the documentation", () => {
  it("are run, or state why not", () => {
    const unmarked = blocks.filter(
      ({ mark }) => !/^(run( once-delivered| stream)?|gate|skip: .+)$/.test(mark),
    );
    expect(unmarked.map(placeOf)).toEqual([]);
  });

  it("name scripts and files that exist", async () => {
    const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const problems = blocks.flatMap((block) => {
      const named = [...block.text.matchAll(/npm (?:run (?!-)([\w:]+)|(start|test)\b)/g)].map(
        (m) => m[1] ?? m[2]!,
      );
      const files = [
        ...`${block.mark}\n${block.text}`.matchAll(/\b(?:server|deploy|faults|bench)\/[\w./-]+\w/g),
      ];
      return [
        ...named.filter((name) => !Object.hasOwn(scripts, name)),
        ...files.map(([file]) => file).filter((file) => !existsSync(join(root, file))),
      ].map((what) => `${placeOf(block)}: ${what}`);
    });
    expect(problems).toEqual([]);
  });

  it("are on pages whose links resolve", async () => {
    const broken: string[] = [];
    for (const page of pages) {
      const text = await readFile(join(root, page), "utf8");
      for (const [, link] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        if (!existsSync(join(root, dirname(page), link!))) broken.push(`${page}: ${link}`);
      }
    }
    expect(broken).toEqual([]);
  });
});

describe("pages", () => {
  it("that use variables of the README say so first", async () => {
    const unexplained: string[] = [];
    for (const page of toRun.keys()) {
      const [before = "", ...runs] = (await readFile(join(root, page), "utf8")).split("```sh run");
      const usesThem = runs.some((text) => /\$(?:KEY|SESSION|POSTRIDER|TARGET|MAILBOX|ID)\b/.test(text));
      if (page.startsWith("docs/") && usesThem && !before.includes("](../README.md#what-it-looks-like)"))
        unexplained.push(page);
    }
    expect(unexplained).toEqual([]);
  });

  it("link to existing headings", async () => {
    const broken: string[] = [];
    const anchors = new Map<string, string[]>();
    for (const page of pages) {
      const text = await readFile(join(root, page), "utf8");
      anchors.set(
        join(root, page),
        [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!)),
      );
    }
    for (const page of pages) {
      const text = await readFile(join(root, page), "utf8");
      for (const [, link = "", anchor = ""] of text.matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)) {
        const file = link === "" ? join(root, page) : join(root, dirname(page), link);
        if (anchors.get(file)?.includes(anchor) === false) broken.push(`${page}: ${link}#${anchor}`);
      }
    }
    expect(anchors.size).toBeGreaterThan(20);
    expect(broken).toEqual([]);
  });
});

/** The anchor of a heading, as GitHub generates it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

describe.runIf(hasTools)("what a reader copies from a page into a shell runs", () => {
  it.for([...toRun.keys()])("%s", async (page, { node, url, receiver, agent }) => {
    const { api_key: key, session_token: session } = await signUp(node);
    const make = async (body: object): Promise<string> =>
      (await node.call("POST", "/api/v1/targets", { key, body })).body.id as string;
    const target = await make({ kind: "webhook", name: "shop", url: `${receiver.url}/webhooks` });
    const mailbox = await make({ kind: "mailbox", name: "jobs" });
    const sent = await node.call("POST", `/t/${target}`, { key, body: { order: 1001 } });
    await node.call("POST", `/t/${mailbox}`, { key, body: { task: "call back" } });
    const said = await runBlocks(toRun.get(page)!, {
      env: {
        KEY: key,
        SESSION: session,
        POSTRIDER: url,
        TARGET: target,
        MAILBOX: mailbox,
        ID: sent.body.id,
      },
      replaced: {
        "localhost:8080": new URL(url).host,
        "localhost:3000": `127.0.0.1:${receiver.port}`,
        "https://agent.example/.well-known/agent-card.json": agent.cardUrl,
      },
    });
    expect(said).not.toBe("");
  });
});

function placeOf({ page, line, mark }: DocumentedBlock): string {
  return `${page}:${line} (${mark === "" ? "no mark" : mark})`;
}
