import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The test files that take longest, most of them because they wait for leases and time limits to end. In a fresh clone Vitest has
 * no durations of earlier runs and begins with the largest files: if one of these files began last, the other workers would be
 * idle.
 */
const longest = [
  "server/scripts/staticChecks.test.ts",
  "server/test/fuzz-malformed-requests.test.ts",
  "dashboard/test/every-page-says-what-is-wrong.test.ts",
  "server/test/backlog-drains-after-faults.test.ts",
  "faults/src/run.test.ts",
  "server/test/one-trace-follows-an-item.test.ts",
  "dashboard/test/targets.test.ts",
  "server/test/graceful-stop-loses-nothing.test.ts",
  "dashboard/test/states.test.ts",
  "dashboard/test/pages-pass-axe.test.ts",
  "server/test/full-disk-is-called-one.test.ts",
  "server/test/every-start-serves-ends-or-says-why.test.ts",
  "server/test/rolling-upgrade-loses-nothing.test.ts",
  "server/test/readiness-means-acceptance.test.ts",
  "server/test/limits-hold-across-nodes.test.ts",
  "server/test/broken-target-delays-no-other.test.ts",
  "server/test/move-loses-no-item.test.ts",
  "server/test/replays.test.ts",
  "server/test/replays-survive-kills.test.ts",
  "server/test/handoff-lost-answer.test.ts",
  "server/test/npm-start-passes-signals-on.test.ts",
  "server/src/targets/webhook/send/sendWebhook.test.ts",
  "server/test/mailbox-changes.test.ts",
  "server/test/accepted-item-survives-crash.test.ts",
  "bench/src/outside/outside.test.ts",
];

/** Vitest's own order, with the longest files of each project before the others. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const index = longest.findIndex((file) => moduleId.endsWith(`/${file}`));
      return index === -1 ? longest.length : index;
    };
    // Sorted within each project, because Vitest runs each project with workers of its own.
    return [...Map.groupBy(sorted, ({ project }) => project.name).values()].flatMap((ofProject) =>
      ofProject.toSorted((one, other) => place(one) - place(other)),
    );
  }
}
