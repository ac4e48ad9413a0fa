import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
const pages = join(root, "docs/sdk");

/** A program in a page: a block of TypeScript, and its output according to the page. */
export interface Sample {
  page: string;
  /** Number of the block in the page, from 1. */
  number: number;
  /** `receiver`: listens at `PORT` until it is stopped; `worker`: runs until it is stopped; "": ends by itself. */
  kind: string;
  text: string;
  /** Expected lines, in which `…` stands for any text. */
  prints: string[];
}

/** Every block of every page. */
export async function readSamples(): Promise<Sample[]> {
  const found: Sample[] = [];
  for (const page of (await readdir(pages)).sort()) {
    const text = await readFile(join(pages, page), "utf8");
    const blocks = text.matchAll(/^```ts ?(\w*)\n([\s\S]*?)^```\n(?:\n```text\n([\s\S]*?)^```\n)?/gm);
    let number = 0;
    for (const [, kind = "", block = "", prints = ""] of blocks) {
      const lines = prints.split("\n").filter((line) => line !== "");
      found.push({ page, number: ++number, kind, text: block, prints: lines });
    }
  }
  return found;
}

/** A sample's process. */
export interface Running {
  /** Lines so far. */
  lines: () => string[];
  /** Resolves to the exit code. */
  ended: Promise<number | null>;
  stop(): void;
}

/** Writes samples into a folder with a project's dependencies, and starts them. */
export async function createSampleRunner(): Promise<{
  start(sample: Sample, env: Record<string, string>): Promise<Running>;
  /** The compiler's errors; empty when there are none. */
  typeCheck(samples: readonly Sample[]): Promise<string>;
  remove(): Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), "postrider-pages-"));
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const sources = await clientSources();
  const children: ChildProcess[] = [];
  async function write(sample: Sample): Promise<string> {
    const file = join(folder, `${basename(sample.page, ".md")}-${sample.number}.mts`);
    const text = sample.text.replaceAll(/"(@postrider\/sdk[\w/]*)"/g, (_all, entry: string) => {
      const source = sources.get(entry);
      if (source === undefined) throw new Error(`${sample.page}: the package has no ${entry}`);
      return JSON.stringify(source);
    });
    await writeFile(file, text.includes("export const POST") ? text + serving : text);
    return file;
  }
  return {
    async typeCheck(samples) {
      const files = await Promise.all(samples.map(write));
      const compiler = join(root, "node_modules/typescript/bin/tsc");
      const failed = (error: { stdout: string }): { stdout: string } => error;
      const checked = execute(process.execPath, [compiler, ...compilerOptions, ...files], { cwd: folder });
      return (await checked.catch(failed)).stdout;
    },
    async start(sample, env) {
      const file = await write(sample);
      const child = spawn(process.execPath, [file], {
        env: { PATH: process.env["PATH"] ?? "", ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      child.stderr.pipe(process.stderr);
      children.push(child);
      let printed = "";
      child.stdout.on("data", (piece: Buffer) => (printed += piece.toString()));
      const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
      return {
        lines: () => printed.split("\n").filter((line) => line !== ""),
        ended,
        stop: () => void child.kill("SIGTERM"),
      };
    },
    async remove() {
      for (const child of children) child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const compilerOptions =
  "--noEmit --strict --skipLibCheck --target es2024 --module nodenext --types node --allowImportingTsExtensions".split(
    " ",
  );

/** Whether the printed lines match the page. */
export function isAsSaid(lines: readonly string[], { prints }: Sample): boolean {
  return lines.length === prints.length && prints.every((said, index) => patternOf(said).test(lines[index]!));
}

function patternOf(said: string): RegExp {
  return new RegExp(`^${said.split("…").map(escape).join(".*")}$`);
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** The package's entries, each with the source that it is compiled from. */
async function clientSources(): Promise<Map<string, string>> {
  const text = await readFile(join(root, "sdk/package.json"), "utf8");
  const { exports } = JSON.parse(text) as { exports: Record<string, unknown> };
  return new Map(
    Object.entries(exports).flatMap(([entry, conditions]): [string, string][] => {
      const compiled = /[\w/.-]+\/(\w+)\.[cm]?js"/.exec(JSON.stringify(conditions));
      if (compiled === null) return [];
      const source = join(root, "sdk/src", `${compiled[1]}.ts`);
      return [[entry.replace(/^\./, "@postrider/sdk"), source]];
    }),
  );
}

/** The code of a framework around a route handler. */
const serving = `
import { createServer } from "node:http";
createServer(async (incoming, outgoing) => {
  const request = new Request("http://localhost/", {
    method: "POST", headers: incoming.headers as never, body: incoming as never, duplex: "half",
  } as never);
  const response = await POST(request);
  outgoing.writeHead(response.status).end();
}).listen(process.env.PORT);
`;
