import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { buildIfStale } from "../../dashboard/test/support/build.ts";
import { pagePaths, portalPaths } from "../src/http/dashboard.ts";
import { createTestNode, type TestNode } from "./support/testNode.ts";
import { file, databaseTest } from "./support/fixtures.ts";

const nodes: TestNode[] = [];

const it = databaseTest().extend(
  "listen",
  file,
  ({ database }) =>
    async (env: Record<string, string> = {}): Promise<string> => {
      const node = createTestNode(database, env);
      nodes.push(node);
      return node.listen();
    },
);

beforeAll(async () => {
  await buildIfStale();
});

afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
});

/** Every page, by an example of its address. */
const paths = pagePaths.map((path) => path.replace("*", "0123"));

const page = { headers: { accept: "text/html,application/xhtml+xml" } };

it("answers with the page at each of its paths, and lets it load nothing from other origins", async ({
  listen,
}) => {
  const url = await listen();
  for (const path of paths) {
    const response = await fetch(url + path);
    expect(response.status, path).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    );
    const text = await response.text();
    expect(text).not.toMatch(/<script>|<style|style="/);
    expect(text).toContain(`src="/theme.js"`);
  }
});

it("serves each path of the dashboard's own router", async () => {
  const router = await readFile(join(import.meta.dirname, "../../dashboard/src/router.tsx"), "utf8");
  const routed = [...router.matchAll(/^ +(?:path: |bare\(|inShell\()"([^"]+)"/gm)].map(
    ([, path = ""]) => path,
  );
  const served = [...pagePaths, ...portalPaths, "/targets/new"];
  const withoutNames = (path: string): string => path.replaceAll(/[$:]\w*/g, "*");
  expect(routed).toContain("/publications/$id");
  expect(routed.map(withoutNames).filter((path) => !served.map(withoutNames).includes(path))).toEqual([]);
});

it("sends immutable files with a long cache lifetime, compressed", async ({ listen }) => {
  const url = await listen();
  const text = await (await fetch(url)).text();
  const [script = ""] = /\/assets\/index-[^"]+\.js/.exec(text) ?? [];
  const response = await fetch(url + script);
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toContain("immutable");
  expect(response.headers.get("content-encoding")).toBe("gzip");
});

it("answers unknown paths with a page for browsers and with JSON for programs", async ({ listen }) => {
  const url = await listen();
  const forPeople = await fetch(`${url}/no/such/page`, page);
  expect([forPeople.status, forPeople.headers.get("content-type")]).toEqual([
    404,
    "text/html; charset=utf-8",
  ]);
  for (const path of ["/no/such/page", "/api/v1/none"]) {
    const answer = await fetch(url + path, path.startsWith("/api") ? page : {});
    expect([answer.status, await answer.json()], path).toEqual([404, { error: "not found" }]);
  }
  const built = await fetch(`${url}/.vite/manifest.json`);
  expect(built.status).toBe(404);
});

it("is not served with POSTRIDER_DASHBOARD=false", async ({ listen }) => {
  const url = await listen({ POSTRIDER_DASHBOARD: "false" });
  for (const path of paths) {
    const answer = await fetch(url + path, page);
    expect([answer.status, await answer.json()], path).toEqual([404, { error: "not found" }]);
  }
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

it("works below a proxy's path prefix, whether the proxy removes the prefix or not", async ({ listen }) => {
  const url = await listen({ POSTRIDER_PUBLIC_URL: "https://example.com/hooks/postrider/" });
  const prefix = "/hooks/postrider";
  for (const path of [...paths, prefix, ...paths.map((one) => prefix + one)]) {
    const text = await (await fetch(url + path)).text();
    expect(text, path).toContain(`src="${prefix}/theme.js"`);
  }
  const text = await (await fetch(url)).text();
  const [script = ""] = /\/hooks\/postrider\/assets\/index-[^"]+\.js/.exec(text) ?? [];
  expect((await fetch(url + script)).status).toBe(200);
  expect((await fetch(url + script.slice(prefix.length))).status).toBe(200);
  expect((await fetch(`${url}${prefix}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}${prefix}/api/v1/targets`)).status).toBe(401);
  // Another path that begins with the same characters is not below the prefix.
  expect((await fetch(`${url}${prefix}2/healthz`)).status).toBe(404);
});
