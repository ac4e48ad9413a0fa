import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { helpersOffFlag } from "./garbageCollector.ts";

test("this version of V8 knows the garbage collector's flag", () => {
  const options = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  expect(options).toContain(`${helpersOffFlag.replace("--no-", "--")} `);
});
