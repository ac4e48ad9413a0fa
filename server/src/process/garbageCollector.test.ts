import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { helpersOffFlag } from "./garbageCollector.ts";

test("the collector's flag is one that this version of V8 knows", () => {
  const options = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  expect(options).toContain(`${helpersOffFlag.replace("--no-", "--")} `);
});
