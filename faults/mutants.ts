import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Mutant, mutants } from "./knownBadBuilds.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A copy of the service with the mutant's fault in it; gives the folder that holds its `cli.ts`. */
function build(mutant: Mutant, folder: string): string {
  mkdirSync(join(folder, "server"));
  cpSync(join(root, "server/src"), join(folder, "server/src"), { recursive: true });
  cpSync(join(root, "server/package.json"), join(folder, "server/package.json"));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const path = join(folder, "server/src", mutant.file);
  const text = readFileSync(path, "utf8");
  if (!text.includes(mutant.find))
    throw new Error(`${mutant.file} has no ${JSON.stringify(mutant.find)} any more`);
  writeFileSync(path, text.replaceAll(mutant.find, mutant.replace));
  return join(folder, "server/src");
}

/** What the tests have against this build of the service; undefined when they pass. */
async function objection(mutant: Mutant, sources: string): Promise<string | undefined> {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const pattern = mutant.pattern === undefined ? [] : ["-t", mutant.pattern];
  const child = spawn(process.execPath, [vitest, "run", `server/test/${mutant.test}.test.ts`, ...pattern], {
    cwd: root,
    env: { ...process.env, POSTRIDER_TEST_BUILD: sources, NO_COLOR: "1" },
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
    const reason = await objection(mutant, build(mutant, folder));
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
