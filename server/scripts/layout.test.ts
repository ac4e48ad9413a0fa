import { describe, expect, it } from "vitest";
import { layoutProblems } from "./layout.ts";

function problemsOf(path: string, text = ""): string[] {
  return layoutProblems([{ path, text }]);
}

describe("the direction of imports", () => {
  it.each([
    ["server/src/net/guard.ts", "../delivery/send.ts"],
    ["server/src/db/pool.ts", "../http/errors.ts"],
    ["server/src/telemetry/log.ts", "../app.ts"],
    ["server/src/delivery/send.ts", "../app.ts"],
    ["server/src/delivery/send.ts", "../http/requestId.ts"],
    ["server/src/delivery/send.ts", "../main.ts"],
    ["server/src/http/limits.ts", "../cli.ts"],
    ["server/src/app.ts", "./main.ts"],
    ["server/src/config.ts", "./db/pool.ts"],
    ["server/src/app.ts", "../../bench/src/main.ts"],
  ])("%s must not import %s", (path, specifier) => {
    for (const statement of [
      `import { a } from "${specifier}";`,
      `import type { A } from "${specifier}";`,
      `import {\n  a,\n  type B,\n} from '${specifier}';`,
      `import "${specifier}";`,
      `export { a } from "${specifier}";`,
      `export * from "${specifier}";`,
      `const a = await import("${specifier}");`,
    ]) {
      expect(problemsOf(path, `import { b } from "node:fs";\n${statement}\n`)).toHaveLength(1);
    }
  });

  it.each([
    ["server/src/delivery/send.ts", "../net/client.ts"],
    ["server/src/delivery/routes.ts", "../http/errors.ts"],
    ["server/src/delivery/routes.ts", "../http/route.ts"],
    ["server/src/intake/accept.ts", "../billing/ledger.ts"],
    ["server/src/app.ts", "./delivery/routes.ts"],
    ["server/src/app.ts", "../package.json"],
    ["server/src/cli.ts", "./main.ts"],
    ["server/src/main.ts", "./app.ts"],
    ["server/src/net/guard.ts", "undici"],
    ["server/src/net/guard.test.ts", "../app.ts"],
    ["server/test/promise.test.ts", "../src/main.ts"],
  ])("%s may import %s", (path, specifier) => {
    expect(problemsOf(path, `import { a } from "${specifier}";\n`)).toEqual([]);
  });
});

describe("names", () => {
  it.each([
    "server/src/delivery/utils.ts",
    "server/src/http/helpers/parse.ts",
    "sdk/src/index.ts",
    "bench/src/types.ts",
  ])("%s is refused", (path) => {
    expect(problemsOf(path)).toEqual([expect.stringContaining("says nothing")]);
  });

  it("a new folder of the server needs a layer", () => {
    expect(problemsOf("server/src/gadgets/spin.ts")).toEqual([expect.stringContaining("give it a layer")]);
  });
});
