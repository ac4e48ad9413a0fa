import type { SourceFile } from "./layout.ts";

/** Tests of `server/test` that may send SQL, because they check which data is stored, and how. */
const storageTests: readonly string[] = [
  // The whole database: its backup, its files, the privileges of its roles.
  "backup-brings-everything-back",
  "embedded-crash",
  "embedded-start",
  "serves-without-rights",
  // Query plans, and how much statements read.
  "claims-stay-cheap-at-midnight",
  "event-reads-stay-in-their-days",
  "events-list-stays-fast",
  "publications-list-stays-fast",
  "stats-stay-fast",
  // Rows and functions below the interface: the ledger, polls of handoffs, keys and positions with the test's own clock.
  "billing-ledger",
  "handoff-records",
  "mailbox-order-survives-clocks",
  "one-item-per-idempotency-key-at-midnight",
  // Cells: which schema and server has which rows.
  "cell-routes-fall-back",
  "cells-are-reached-straight",
  "cells-move-while-items-come",
  "cells-on-citus",
  "division-is-whole-or-not-at-all",
  "items-stay-in-their-cell",
  "mailbox-order-on-citus",
  "placement-commands-need-citus",
];

/**
 * Finds lines of tests in `server/test` that send SQL although their file is not in the list, and listed files that send none.
 * Tests should use the interface; what it cannot show or cause is done by named functions in `server/test/support`.
 */
export function storageProblems(
  files: readonly SourceFile[],
  listed: readonly string[] = storageTests,
): string[] {
  const tests = new Map(
    files.flatMap(({ path, text }) => {
      const name = /^server\/test\/([^/]+)\.test\.tsx?$/.exec(path)?.[1];
      return name === undefined ? [] : [[name, linesWithSql(text).map((line) => `${path}:${line}`)] as const];
    }),
  );
  const unlisted = [...tests]
    .filter(([name]) => !listed.includes(name))
    .flatMap(([, places]) => places)
    .map(
      (place) =>
        `${place}: tests use the interface, not SQL; put other access into a named function in server/test/support`,
    );
  const idle = listed
    .filter((name) => (tests.get(name) ?? []).length === 0)
    .map((name) => `server/scripts/storageTests.ts: "${name}" sends no SQL; take it off the list`);
  return [...unlisted, ...idle];
}

/** Numbers of the lines that call `query`: the method of a pool or a connection, or the function of `embeddedProcess.ts`. */
function linesWithSql(text: string): number[] {
  return text.split("\n").flatMap((line, at) => (/\bquery\s*[(<]/.test(line) ? [at + 1] : []));
}
