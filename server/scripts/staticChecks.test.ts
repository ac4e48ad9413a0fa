import { describe, expect, it } from "vitest";
import { staticChecks, runCheck } from "./staticChecks.ts";

// The long timeout is needed because the other tests run at the same time and leave these checks a quarter of the CPU time or
// less.
describe.concurrent("the sources", { retry: 0, timeout: 600_000 }, () => {
  it.each(staticChecks)("pass %s", async (name) => {
    const { passed, output } = await runCheck(name);
    expect(passed, output).toBe(true);
  });
});
