import type { Reporter, TestModule } from "vitest/node";

/**
 * A Vitest reporter that prints, at the end, the slowest files of a long run and one plain line, `N passed, N failed`, which
 * programs read. A file that cannot be loaded and an error outside any test count as one failure each.
 */
export const closingLine: Reporter = {
  onTestRunEnd(modules, unhandledErrors) {
    const totals = modules.map(countModule);
    const passed = totals.reduce((sum, total) => sum + total.passed, 0);
    const failed = totals.reduce((sum, total) => sum + total.failed, unhandledErrors.length);
    process.stdout.write(`\n${slowestFiles(modules)}${passed} passed, ${failed} failed\n`);
  },
};

const shownFiles = 10;

/** Lists the slowest files of a run, one per line; returns an empty text for a run of few files. */
function slowestFiles(modules: readonly TestModule[]): string {
  if (modules.length <= shownFiles) return "";
  const lines = modules
    .map((module) => {
      const { collectDuration, duration, setupDuration } = module.diagnostic();
      return { file: module.relativeModuleId, seconds: (collectDuration + duration + setupDuration) / 1000 };
    })
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, shownFiles)
    .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}\n`);
  return `The slowest files:\n${lines.join("")}\n`;
}

function countModule(module: TestModule): { passed: number; failed: number } {
  let passed = 0;
  let failed = 0;
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    if (state === "passed") passed += 1;
    if (state === "failed") failed += 1;
  }
  // Loading errors, and failed hooks of a whole file, do not appear as failed tests.
  if (failed === 0 && module.state() === "failed") failed = 1;
  return { passed, failed };
}
