import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const compiler = join(root, "node_modules/typescript/bin/tsc");
let tree: string;

/** Compiles the package where npm would install it. */
beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), "postrider-sdk-"));
  const installed = join(tree, "node_modules/@postrider/sdk");
  await mkdir(installed, { recursive: true });
  await run(process.execPath, [
    compiler,
    "-p",
    join(root, "sdk/tsconfig.build.json"),
    "--outDir",
    join(installed, "dist"),
  ]);
  await cp(join(root, "sdk/package.json"), join(installed, "package.json"));
  await writeFile(join(tree, "package.json"), '{ "type": "module" }');
  await writeFile(join(tree, "program.ts"), program);
});

afterAll(async () => {
  await rm(tree, { recursive: true, force: true });
});

const program = `
import { type Client, createClient, PostriderError, type Target } from "@postrider/sdk";
import { consumeMailbox, RejectMessage } from "@postrider/sdk/mailbox";
import { verifyWebhook, WebhookVerificationError } from "@postrider/sdk/webhook";

const client: Client = createClient({ baseUrl: "http://127.0.0.1:1", maxAttempts: 1 });
const failure: unknown = await client.listTargets().catch((error: unknown) => error);
const refusal: unknown = await verifyWebhook("whsec_AA==", {}, "").catch((error: unknown) => error);
export const name = (target: Target): string => target.name;
console.log(
  failure instanceof PostriderError && failure.status === 0,
  refusal instanceof WebhookVerificationError,
  typeof consumeMailbox,
  new RejectMessage("no").message,
);
`;

/** What the compiler says about the program; empty when it is content. */
async function typeCheck(...options: string[]): Promise<string> {
  const always = ["--strict", "--noEmit", "--target", "es2022", ...options, "program.ts"];
  const failed = (error: { stdout: string }): { stdout: string } => error;
  const { stdout } = await run(process.execPath, [compiler, ...always], { cwd: tree }).catch(failed);
  return stdout;
}

describe("the published client", () => {
  it("runs as compiled JavaScript", async () => {
    await writeFile(join(tree, "program.js"), stripTypeScriptTypes(program));
    const { stdout } = await run(process.execPath, ["program.js"], { cwd: tree });
    expect(stdout.trim()).toBe("true true function no");
  });

  it("has types for Node", async () => {
    await symlink(join(root, "node_modules/@types"), join(tree, "node_modules/@types"));
    const checked = await typeCheck("--module", "nodenext", "--types", "node", "--lib", "es2022");
    expect(checked).toBe("");
  });

  it("has types for browsers", async () => {
    const lib = "es2022,dom,dom.iterable";
    expect(
      await typeCheck("--module", "esnext", "--moduleResolution", "bundler", "--types", "", "--lib", lib),
    ).toBe("");
  });
});
