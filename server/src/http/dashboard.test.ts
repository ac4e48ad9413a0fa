import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { addDashboard } from "./dashboard.ts";

async function build(folder: string, script: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, "assets"), { recursive: true });
  await writeFile(join(folder, "index.html"), `<script type="module" src="./assets/${script}"></script>`);
  await writeFile(join(folder, "assets", script), "export {};");
}

it("serves the page and the files of a new build that replaced the build at the start", async () => {
  const made = await mkdtemp(join(tmpdir(), "postrider-dashboard-"));
  const folder = join(made, "dist");
  const app = Fastify();
  onTestFinished(async () => {
    await app.close();
    await rm(made, { recursive: true });
  });
  await build(folder, "index-before.js");
  const framingOf = async () => ({ ancestors: [], images: undefined });
  addDashboard(app, { config: { publicUrl: undefined, mail: undefined }, framingOf, folder });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const scriptOf = async (path: string): Promise<string> =>
    /src="([^"]+)"/.exec(await (await fetch(url + path)).text())?.[1] ?? "";
  expect(await scriptOf("/items")).toBe("/assets/index-before.js");

  await rm(folder, { recursive: true });
  // During an upgrade, the folder is missing for a moment, and the old page is still served.
  expect(await scriptOf("/items")).toBe("/assets/index-before.js");
  await build(folder, "index-after.js");
  expect(await scriptOf("/items")).toBe("/assets/index-after.js");
  expect((await fetch(`${url}/assets/index-after.js`)).status).toBe(200);
  expect((await fetch(`${url}/assets/index-before.js`)).status).toBe(404);
  expect((await fetch(`${url}/assets/..%2Findex.html`)).status).toBe(404);
});
