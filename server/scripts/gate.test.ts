import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
let tree: string;

beforeEach(async () => {
  tree = await mkdtemp(join(tmpdir(), "postrider-gate-"));
});
afterEach(async () => {
  await rm(tree, { recursive: true });
});

async function plant(path: string, text: string): Promise<void> {
  await mkdir(join(tree, dirname(path)), { recursive: true });
  await writeFile(join(tree, path), text);
}

/** Runs a program of this repository with the Node that runs the tests; resolves with its exit status and all output. */
function run(
  script: string,
  args: readonly string[],
  cwd: string,
): Promise<{ status: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(root, script), ...args], { cwd }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

describe("in a temporary source tree, a violation", () => {
  it("of the import direction is refused", async () => {
    await plant("server/src/app.ts", "export const app = 1;\n");
    await plant(
      "server/src/outbound/client.ts",
      'import { app } from "../app.ts";\n\nexport const client = app;\n',
    );
    const { status, output } = await run("server/scripts/checkLayout.ts", [tree], root);
    expect(status).toBe(1);
    expect(output).toContain("server/src/outbound/client.ts imports server/src/app.ts");
  });

  it("of the lint rules is refused, also of rules that need types or the whole program", async () => {
    await copyFile(join(root, ".oxlintrc.jsonc"), join(tree, ".oxlintrc.jsonc"));
    await plant(
      "tsconfig.json",
      '{ "compilerOptions": { "allowImportingTsExtensions": true, "noEmit": true, "types": [] } }',
    );
    await plant("server/src/a.ts", 'import { b } from "./b.ts";\n\nexport const a = () => b;\n');
    await plant("server/src/b.ts", 'import { a } from "./a.ts";\n\nexport const b = () => a;\n');
    await plant("server/src/c.ts", "async function work() {}\n\nexport function start() {\n  work();\n}\n");
    await plant("server/src/d.ts", 'export const d = process.env["HOME"];\nconsole.log(d);\n');
    const { status, output } = await run("node_modules/oxlint/bin/oxlint", ["--deny-warnings"], tree);
    expect(status).toBe(1);
    for (const rule of ["no-cycle", "no-floating-promises", "no-process-env", "no-console"]) {
      expect(output).toContain(rule);
    }
  });
});

describe("the closing line", () => {
  it("counts failed tests, files that do not load and errors outside tests", async () => {
    const reporter = JSON.stringify(join(root, "server/scripts/closingLine.ts"));
    await plant(
      "vitest.config.mts",
      `import { closingLine } from ${reporter};\nexport default { test: { globals: true, reporters: [closingLine] } };\n`,
    );
    await plant("a.test.ts", "it('holds', () => {});\nit('fails', () => { throw new Error('no'); });\n");
    await plant("b.test.ts", "throw new Error('does not load');\n");
    await plant("c.test.ts", "it('leaks', () => { void Promise.reject(new Error('late')); });\n");
    const { status, output } = await run("node_modules/vitest/vitest.mjs", ["run"], tree);
    expect(status).toBe(1);
    expect(output.trimEnd().split("\n").at(-1)).toBe("2 passed, 3 failed");
  });
});

describe("a run in which no test ends for a long time", () => {
  /** Runs a planted test. Its patience ends when the test has made the file `hangs`; `noted` has the lines that `silence` has seen. */
  const planted = async (test: string): Promise<{ status: number; output: string }> => {
    const reporter = JSON.stringify(join(root, "server/scripts/silence.ts"));
    await plant(
      "vitest.config.mts",
      `import { appendFileSync, existsSync } from "node:fs";
       import { silence } from ${reporter};
       const note = (what) => (task) => appendFileSync("noted", what + (task.name ?? "file") + "\\n");
       const notes = {
         onTestModuleStart: note("began "),
         onTestCaseReady: note("began "),
         onTestCaseResult: note("ended "),
       };
       const untilHanging = (end) => setInterval(() => existsSync("hangs") && end(), 20);
       export default {
         test: {
           globals: true, testTimeout: 0, hookTimeout: 0,
           reporters: ["default", silence(0, untilHanging), notes],
         },
       };`,
    );
    await plant(
      "a.test.ts",
      `import { existsSync, readFileSync, writeFileSync } from "node:fs";
       import { setTimeout as delay } from "node:timers/promises";
       const until = async (line) => {
         while (!existsSync("noted") || !readFileSync("noted", "utf8").includes(line)) await delay(20);
       };
       const hang = () => writeFileSync("hangs", "");
       ${test}`,
    );
    return run("node_modules/vitest/vitest.mjs", ["run"], tree);
  };

  it("is ended, and its report names the test that blocks a worker", async () => {
    const { status, output } = await planted(
      `it("holds", () => {});
       it("fails", () => { throw new Error("no"); });
       it("loops", async () => {
         await until("ended fails");
         await until("began loops");
         hang();
         for (;;);
       });`,
    );
    expect(status).toBe(1);
    expect(output).toMatch(/Running:\na\.test\.ts\nloops\nFailed:\nfails\nError: no/);
    expect(output.trimEnd().split("\n").at(-1)).toBe("1 passed, 2 failed");
  });

  it("is ended when the cleanup of a file's fixtures does not end", async () => {
    const { status, output } = await planted(
      `const own = it.extend("open", { scope: "file" }, ({}, { onCleanup }) => {
         onCleanup(async () => {
           await until("ended ends");
           hang();
           await delay(2 ** 31 - 1);
         });
       });
       own("ends", ({ open }) => {});`,
    );
    expect(status).toBe(1);
    expect(output).toContain("Running:\na.test.ts\nFailed:\n");
  });
});

describe("the interpreter", () => {
  it("is the pinned Node, whichever Node is installed on the machine", () => {
    expect(process.execPath.startsWith(join(root, "node_modules"))).toBe(true);
  });
});
