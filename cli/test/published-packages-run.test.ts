import { execFile, spawnSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser } from "../../dashboard/test/support/browser.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const tree = mkdtempSync(join(tmpdir(), "postrider-published-"));
const modules = join(tree, "node_modules");

/** Node programs, one of each version: the one that runs the tests, those of TEST_NODES (a list of paths), and those on PATH. */
const nodes = [
  process.execPath,
  ...(process.env["TEST_NODES"] ?? "").split(delimiter).filter((path) => path !== ""),
  ...(process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "node")),
]
  .map((path) => [spawnSync(path, ["--version"], { encoding: "utf8" }).stdout ?? "", path] as const)
  .filter(([version]) => /^v(2[0-9]|[3-9]\d)\./.test(version))
  .filter(([version], index, all) => all.findIndex(([other]) => other === version) === index)
  .map(([version, path]) => [version.trim(), path] as const);

/** The two packages depend on no others, so npm installs them without a registry. */
beforeAll(async () => {
  const packed = await run(process.execPath, [join(root, "server/scripts/pack.ts"), tree, "cli", "sdk"]);
  writeFileSync(join(tree, "package.json"), '{ "private": true }');
  const install = ["install", "--offline", "--no-audit", "--no-fund", ...packed.stdout.trim().split("\n")];
  await run("npm", install, { cwd: tree });
  writeFileSync(join(tree, "module.mjs"), `${imports}${program}`);
  writeFileSync(join(tree, "common.cjs"), `${requires}${program}`);
});

afterAll(() => rmSync(tree, { recursive: true, force: true }));

const imports = `
import { createClient, PostriderError } from "@postrider/sdk";
import { consumeMailbox } from "@postrider/sdk/mailbox";
import { verifyWebhook, WebhookVerificationError } from "@postrider/sdk/webhook";`;

const requires = `
const { createClient, PostriderError } = require("@postrider/sdk");
const { consumeMailbox } = require("@postrider/sdk/mailbox");
const { verifyWebhook, WebhookVerificationError } = require("@postrider/sdk/webhook");`;

const program = `
createClient({ baseUrl: "http://127.0.0.1:2", maxAttempts: 1 }).listTargets().catch(async (failure) => {
  const refusal = await verifyWebhook("whsec_AA==", {}, "").catch((error) => error);
  console.log(failure instanceof PostriderError, refusal instanceof WebhookVerificationError, typeof consumeMailbox);
});`;

const typed = `
import { type Client, createClient, PostriderError, type Target } from "@postrider/sdk";
import { consumeMailbox, RejectMessage } from "@postrider/sdk/mailbox";
import { verifyWebhook, WebhookVerificationError } from "@postrider/sdk/webhook";

const client: Client = createClient({ baseUrl: "http://127.0.0.1:1", maxAttempts: 1 });
const failure: unknown = await client.listTargets().catch((error: unknown) => error);
const refusal: unknown = await verifyWebhook("whsec_AA==", {}, "").catch((error: unknown) => error);
export const name = (target: Target): string => target.name;
export const said: [boolean, boolean, string] = [
  failure instanceof PostriderError && failure.status === 0,
  refusal instanceof WebhookVerificationError,
  typeof consumeMailbox + new RejectMessage("no").message,
];
`;

/** The compiler's errors about the program; empty when there are none. */
async function typeCheck(...options: string[]): Promise<string> {
  const always = ["--strict", "--noEmit", "--target", "es2022", ...options, "program.mts"];
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const failed = (error: { stdout: string }): { stdout: string } => error;
  const folder = { cwd: join(tree, "typed") };
  const { stdout } = await run(process.execPath, [compiler, ...always], folder).catch(failed);
  return stdout;
}

describe("the published client", () => {
  it.each(nodes)("runs as a module and as CommonJS in Node %s", async (_version, node) => {
    for (const file of ["module.mjs", "common.cjs"]) {
      const { stdout } = await run(node, [join(tree, file)], { cwd: tree });
      expect(stdout).toBe("true true function\n");
    }
  });

  it("has types for Node, and for browsers", async () => {
    // In a folder of its own below the tree, so that the installed packages stay as npm left them.
    mkdirSync(join(tree, "typed/node_modules"), { recursive: true });
    writeFileSync(join(tree, "typed/program.mts"), typed);
    symlinkSync(join(root, "node_modules/@types"), join(tree, "typed/node_modules/@types"));
    const node = ["--module", "nodenext", "--types", "node", "--lib", "es2022"];
    const browser = ["--module", "esnext", "--moduleResolution", "bundler", "--types", ""];
    expect(await typeCheck(...node)).toBe("");
    expect(await typeCheck(...browser, "--lib", "es2022,dom,dom.iterable")).toBe("");
  });

  it("names its types for compilers that do not read exports, such as TypeScript 5 with node10", async () => {
    const manifest = await readFile(join(modules, "@postrider/sdk/package.json"), "utf8");
    const { exports, types, typesVersions } = JSON.parse(manifest) as {
      exports: Record<string, { require: { types: string } }>;
      types: string;
      typesVersions: { "*": Record<string, string[]> };
    };
    const exported = Object.entries(exports).map(([path, entry]) => [path.slice(2), [entry.require.types]]);
    expect({ "": [types], ...typesVersions["*"] }).toEqual(Object.fromEntries(exported));
  });

  it("runs in a browser", async () => {
    const { server, origin } = await startAnswering();
    const browser = await startBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(origin);
      const seen = await page.evaluate(`(async () => {
        const { createClient } = await import("/sdk/client.js");
        const { verifyWebhook } = await import("/sdk/verifyWebhook.js");
        const refusal = await verifyWebhook("whsec_AA==", {}, "").catch((error) => error.name);
        const { targets } = await createClient({ baseUrl: location.origin, apiKey: "key" }).listTargets();
        return [targets, refusal];
      })()`);
      expect(seen).toEqual([[{ name: "orders" }], "WebhookVerificationError"]);
    } finally {
      await browser.close();
      server.close();
    }
  });
});

async function startAnswering(): Promise<{ server: Server; origin: string }> {
  const server = createServer((request, response) => {
    void answer(request.url ?? "/").then(({ status, type, body }) => {
      response.writeHead(status, { "content-type": type }).end(body);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Answers requests of the browser and of the command: an empty page, the package's files, and one answer of the interface. */
async function answer(path: string): Promise<{ status: number; type: string; body: string }> {
  if (path === "/api/v1/targets") {
    return { status: 200, type: "application/json", body: '{"targets":[{"name":"orders"}]}' };
  }
  if (!path.startsWith("/sdk/"))
    return { status: 200, type: "text/html", body: "<!doctype html><title>a page</title>" };
  const body = await readFile(join(modules, "@postrider/sdk/dist", path.slice("/sdk/".length)), "utf8");
  return { status: 200, type: "text/javascript", body };
}

describe("the published command of clients", () => {
  it("installs nothing but itself and the SDK", async () => {
    const { stdout } = await run("npm", ["ls", "--all", "--parseable"], { cwd: tree });
    const installed = stdout
      .trim()
      .split("\n")
      .slice(1)
      .map((path) => path.slice(modules.length + 1));
    expect(installed).toEqual(["@postrider/cli", "@postrider/sdk"]);
  });

  it.each(nodes)("runs in Node %s", async (_version, node) => {
    const command = join(modules, "@postrider/cli/bin/postrider.cjs");
    const env = { PATH: process.env["PATH"] };
    const { stdout } = await run(node, [command, "version"], { env });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+/);
    const list = (origin: string) =>
      run(node, [command, "target", "list", "--names", "--server", origin], {
        env: { ...env, POSTRIDER_KEY: "key" },
      });
    const { server, origin } = await startAnswering();
    const listed = await list(origin).finally(() => server.close());
    expect(listed.stdout).toBe("orders\n");
    await expect(list("http://127.0.0.1:2")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ECONNREFUSED/),
    });
    await expect(run(node, [command, "serve"], { env })).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /the package postrider; in a clone: npx node server\/bin\/postrider\.cjs serve/,
      ),
    });
  });
});
