import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export const root = join(import.meta.dirname, "../../..");

/**
 * A block of shell commands in a page. The words after `sh` say how the test treats it: `run`: it is run; `run
 * once-delivered`: it is run when the event `$ID` has been delivered; `run stream`: it is run for two seconds;
 * `gate`: continuous integration runs it; `skip: …`: the reason why it cannot be run here.
 */
export interface DocumentedBlock {
  page: string;
  line: number;
  mark: string;
  text: string;
}

export async function blocksOf(page: string): Promise<DocumentedBlock[]> {
  const source = await readFile(join(root, page), "utf8");
  return [...source.matchAll(/^```sh ?(.*)\n([\s\S]*?)^```$/gm)].map((found) => ({
    page,
    line: source.slice(0, found.index).split("\n").length,
    mark: found[1]!.trim(),
    text: found[2]!,
  }));
}

/** The values that a reader would have for the names on the pages. */
export interface Surroundings {
  env: Record<string, string>;
  /** Texts of the pages, such as `localhost:8080`, and their replacements here. */
  replaced: Record<string, string>;
}

const limitMs = 60_000;

/**
 * Runs a page's blocks in one shell, from top to bottom.
 * @returns the output; rejects when a command fails, with the block's line.
 */
export async function runBlocks(blocks: DocumentedBlock[], { env, replaced }: Surroundings): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "postrider-pages-"));
  try {
    // A status of 400 or more ends the shell, because a reader would stop there.
    await writeFile(join(home, ".curlrc"), "fail-with-body\nsilent\nshow-error\n");
    const script = ["set -euo pipefail", ...blocks.map((block) => shellOf(block, replaced))].join("\n");
    const { stdout } = await promisify(execFile)("bash", ["-c", script], {
      cwd: home,
      timeout: limitMs,
      env: { PATH: process.env["PATH"], HOME: home, ...env },
    });
    return stdout;
  } finally {
    await rm(home, { recursive: true });
  }
}

function shellOf({ page, line, mark, text }: DocumentedBlock, replaced: Record<string, string>): string {
  const here = Object.entries(replaced).reduce((said, [from, to]) => said.replaceAll(from, to), text);
  const head = `echo "${page}:${line}" >&2`;
  if (mark === "run once-delivered") return `${head}\n${untilDelivered(replaced)}\n${here}`;
  // 28 is curl's exit code for a timeout: a stream does not end by itself.
  if (mark === "run stream") {
    return `${head}\n{ ${here.trim().replace("curl ", "curl --max-time 2 ")}\n} || [ $? = 28 ]`;
  }
  return `${head}\n${here}`;
}

function untilDelivered(replaced: Record<string, string>): string {
  const event = `${replaced["localhost:8080"]}/api/v1/events/$ID`;
  return `until curl "${event}" -H "authorization: Bearer $KEY" | grep -q '"status":"DELIVERED"'; do :; done`;
}
