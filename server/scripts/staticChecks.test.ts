import { describe, expect, it } from "vitest";
import { staticChecks, runCheck } from "./staticChecks.ts";

// Beside the other tests, which leave a quarter of the processors' time to them, and less at the gate's beginning.
describe.concurrent("the sources", { retry: 0, timeout: 600_000 }, () => {
  it.each(staticChecks)("pass %s", async (name) => {
    const { passed, output } = await runCheck(name);
    expect(passed, output).toBe(true);
  });
});
