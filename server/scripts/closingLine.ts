import type { Reporter, TestModule } from "vitest/node";

/**
 * A Vitest reporter that ends the output with one plain line, `N passed, N failed`, for programs that read it.
 * A file that cannot be loaded and an error outside any test count as one failure each.
 */
export const closingLine: Reporter = {
  onTestRunEnd(modules, unhandledErrors) {
    const totals = modules.map(countModule);
    const passed = totals.reduce((sum, total) => sum + total.passed, 0);
    const failed = totals.reduce((sum, total) => sum + total.failed, unhandledErrors.length);
    process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
  },
};

function countModule(module: TestModule): { passed: number; failed: number } {
  let passed = 0;
  let failed = 0;
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    if (state === "passed") passed += 1;
    if (state === "failed") failed += 1;
  }
  // Loading errors and failed hooks of a whole file leave no failed test behind.
  if (failed === 0 && module.state() === "failed") failed = 1;
  return { passed, failed };
}
