import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Edit, type Mutant, mutants } from "./knownBadBuilds.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Copies everything, tests included: some of them run the service in their own process. */
function build(mutant: Mutant, folder: string): void {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const path of listed.split("\0")) {
    if (path === "" || !existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(root, path), join(folder, path));
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  // Some programs run as another user.
  chmodSync(folder, 0o755);
  for (const edit of mutant.edits) plant(edit, folder);
}

function plant({ file, find, replace }: Edit, folder: string): void {
  const path = join(folder, "server/src", file);
  const text = readFileSync(path, "utf8");
  if (!text.includes(find)) throw new Error(`${file} has no ${JSON.stringify(find)} any more`);
  writeFileSync(
    path,
    text.replaceAll(find, () => replace),
  );
}

/** What the tests have against this build of the service; undefined when they pass. */
async function objection(mutant: Mutant, folder: string): Promise<string | undefined> {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const pattern = mutant.pattern === undefined ? [] : ["-t", mutant.pattern];
  const file = `server/test/${mutant.test}.test.ts`;
  const child = spawn(process.execPath, [vitest, "run", "--project=all", "--retry=0", file, ...pattern], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (text: Buffer) => (output += text.toString()));
  child.stderr.on("data", (text: Buffer) => (output += text.toString()));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  // A run in which nothing was tested proves nothing, whatever its exit code.
  if (!/[1-9]\d* (passed|failed)/.test(output)) throw new Error(`nothing was tested:\n${output}`);
  if (/the service ended with 1/.test(output)) throw new Error(`"${mutant.name}" does not start:\n${output}`);
  return code === 0 ? undefined : (/^\w*Error: .*$/m.exec(output)?.[0] ?? "it failed");
}

const wanted = process.argv[2] ?? "";
const survivors: string[] = [];
for (const mutant of mutants.filter(({ name }) => name.includes(wanted))) {
  const folder = mkdtempSync(join(tmpdir(), "postrider-mutant-"));
  try {
    const startedAtMs = performance.now();
    build(mutant, folder);
    const reason = await objection(mutant, folder);
    const seconds = Math.round((performance.now() - startedAtMs) / 1000);
    console.log(
      `${reason === undefined ? "SURVIVED" : "caught"}: ${mutant.name} (${mutant.test}, ${seconds} s)`,
    );
    if (reason === undefined) survivors.push(mutant.name);
    else console.log(`        ${reason}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
process.exitCode = survivors.length === 0 ? 0 : 1;
