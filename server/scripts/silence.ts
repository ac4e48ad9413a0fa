import { readdirSync, readFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/**
 * A Vitest reporter that ends a run in which no test has ended for `patienceMs` milliseconds. It prints the running tests, and
 * `N passed, N failed` as {@link closingLine} does. No time limit of Vitest's ends a worker whose event loop is blocked, or a
 * file whose fixtures do not end.
 * @param startTimer Calls `end` after the time; a test replaces it to choose the moment.
 */
export function silence(
  patienceMs: number,
  startTimer: (end: () => void, ms: number) => NodeJS.Timeout = setTimeout,
): Reporter {
  const running = new Set<TestCase | TestModule>();
  const failed = new Set<TestCase>();
  let passed = 0;
  let timer: NodeJS.Timeout | undefined;
  function restart(): void {
    clearTimeout(timer);
    timer = startTimer(() => {
      // The run that hangs counts as one failure.
      const counts = `${passed} passed, ${failed.size + 1} failed`;
      process.stdout.write(`\n${reportOf(running, failed)}\n\n${counts}\n`);
      // Vitest's watchdog then ends the workers.
      // oxlint-disable-next-line unicorn/no-process-exit -- a test that hangs keeps the run
      process.exit(1);
    }, patienceMs);
    timer.unref();
  }
  const begin = (task: TestCase | TestModule): void => void running.add(task);
  function end(task: TestCase | TestModule): void {
    running.delete(task);
    restart();
  }
  return {
    onTestRunStart: restart,
    onTestModuleStart: begin,
    onTestModuleEnd: end,
    onTestCaseReady: begin,
    onTestCaseResult(test) {
      end(test);
      const { state } = test.result();
      if (state === "failed") failed.add(test);
      if (state === "passed") passed += 1;
    },
    onTestRunEnd: () => clearTimeout(timer),
  };
}

function errorsOf(test: TestCase): string[] {
  return (test.result().errors ?? []).map(({ stack, message }) => stack ?? message);
}

function reportOf(running: ReadonlySet<TestCase | TestModule>, failed: ReadonlySet<TestCase>): string {
  return [
    "No test has ended for long. Running:",
    ...[...running].map((task) => (task.type === "test" ? task.fullName : task.relativeModuleId)),
    "Failed:",
    ...[...failed].flatMap((test) => [test.fullName, errorsOf(test)].flat()),
    "Processes of this run:",
    ...processesOfRun(),
  ].join("\n");
}

/** The processes started by this run, found by an environment variable; only on Linux. */
function processesOfRun(): string[] {
  const mark = `TEST_PROGRAMS=${process.env["TEST_PROGRAMS"]}\0`;
  return entriesOf("/proc")
    .filter((pid) => textOf(`/proc/${pid}/environ`).includes(mark))
    .map((pid) => `${pid} ${textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ")}`);
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
