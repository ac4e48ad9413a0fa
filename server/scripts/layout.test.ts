import { describe, expect, it } from "vitest";
import { layoutProblems } from "./layout.ts";

function problemsOf(path: string, text = ""): string[] {
  return layoutProblems([{ path, text }]);
}

describe("the direction of imports", () => {
  it.each([
    ["server/src/outbound/guard.ts", "../delivery/send.ts"],
    ["server/src/postgres/pool.ts", "../http/contract/errors.ts"],
    ["server/src/telemetry/log.ts", "../app.ts"],
    ["server/src/delivery/send.ts", "../app.ts"],
    ["server/src/delivery/send.ts", "../http/server.ts"],
    ["server/src/delivery/send.ts", "../http/fast/connection.ts"],
    ["server/src/delivery/send.ts", "../process/main.ts"],
    ["server/src/http/limits.ts", "../process/cli.ts"],
    ["server/src/http/limits.ts", "../accounts/logIn.ts"],
    ["server/src/app.ts", "./process/main.ts"],
    ["server/src/config/config.ts", "../postgres/pool.ts"],
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
    ["server/src/delivery/send.ts", "../outbound/client.ts"],
    ["server/src/delivery/routes.ts", "../http/contract/errors.ts"],
    ["server/src/http/server.ts", "./fast/connection.ts"],
    ["server/src/intake/accept.ts", "../billing/ledger.ts"],
    ["server/src/app.ts", "./delivery/routes.ts"],
    ["server/src/app.ts", "../package.json"],
    ["server/src/app.ts", "./http/server.ts"],
    ["server/src/process/cli.ts", "./main.ts"],
    ["server/src/process/main.ts", "../app.ts"],
    ["server/src/outbound/guard.ts", "undici"],
    ["server/src/outbound/guard.test.ts", "../app.ts"],
    ["server/test/promise.test.ts", "../src/process/main.ts"],
  ])("%s may import %s", (path, specifier) => {
    expect(problemsOf(path, `import { a } from "${specifier}";\n`)).toEqual([]);
  });
});

describe("import cycles of folders", () => {
  function circlesOf(imports: readonly [string, string][]): string[] {
    return layoutProblems(
      imports.map(([path, specifier]) => ({ path, text: `import { a } from "${specifier}";\n` })),
    );
  }

  it.each<[string, [string, string][]]>([
    [
      "between two features",
      [
        ["server/src/delivery/send.ts", "../targets/store.ts"],
        ["server/src/targets/create.ts", "../delivery/signature.ts"],
      ],
    ],
    [
      "through a third, though no file is in a circle of files",
      [
        ["server/src/mailbox/a.ts", "../events/b.ts"],
        ["server/src/events/c.ts", "../billing/d.ts"],
        ["server/src/billing/e.ts", "../mailbox/f.ts"],
      ],
    ],
    [
      "between the parts of features, whichever folder they lie in",
      [
        ["server/src/delivery/dispatch/a.ts", "../../targets/view/b.ts"],
        ["server/src/targets/change/c.ts", "../../delivery/attempt/d.ts"],
      ],
    ],
    [
      "between a folder and the one it lies in",
      [
        ["server/src/mailbox/routes.ts", "./claim/claim.ts"],
        ["server/src/mailbox/claim/claim.ts", "../findMailbox.ts"],
      ],
    ],
  ])("are refused %s, and both imports are named", (_where, imports) => {
    expect(circlesOf(imports)).toEqual([expect.stringMatching(/circle.* imports .*; .* imports/)]);
  });

  it("are not reported when the import that closes the circle is a test's", () => {
    expect(
      circlesOf([
        ["server/src/delivery/send.ts", "../targets/store.ts"],
        ["server/src/targets/create.test.ts", "../delivery/signature.ts"],
      ]),
    ).toEqual([]);
  });
});

describe("names", () => {
  it.each([
    "server/src/delivery/utils.ts",
    "server/src/http/helpers/parse.ts",
    "sdk/src/index.ts",
    "bench/src/types.ts",
  ])("%s is refused", (path) => {
    expect(problemsOf(path)).toEqual([expect.stringContaining("does not say what it contains")]);
  });

  it("a new folder of the server needs a layer", () => {
    expect(problemsOf("server/src/gadgets/spin.ts")).toEqual([expect.stringContaining("give it a layer")]);
  });
});
