import { existsSync } from "node:fs";
import { describe, expect } from "vitest";
import { databaseTest } from "./support/fixtures.ts";
import { commandFile, type Program, serviceFile, someKey, startProgram } from "./support/program.ts";

const it = databaseTest().extend(
  "run",
  ({ database }) =>
    (script: string, ...words: string[]): Program =>
      startProgram({
        command: ["bash", "-o", "pipefail", "-c", script, process.execPath, serviceFile, ...words],
        env: { DATABASE_URL: database.url, POSTRIDER_ENCRYPTION_KEY: someKey, LOG_LEVEL: "info" },
      }),
);

it.for([
  ["org", "create", "acme"],
  ["org", "--help"],
])("an operator's command whose output is closed ends as usual: %s %s", async (words, { run }) => {
  const piped = run('"$0" "$@" | true', ...words);
  expect(await piped.ended).toMatchObject({ code: 0 });
  expect(piped.output()).not.toContain("EPIPE");
});

/** A device that is always full. */
describe.runIf(existsSync("/dev/full"))("a full disk", () => {
  it.for([
    ["org", "list"],
    ["db", "cells"],
    ["org", "--help"],
  ])(
    "is reported in one line when the output of a command cannot be written: %s %s",
    async (words, { run }) => {
      await run('"$0" "$@"', "org", "create", "acme").ended;
      const full = run('"$0" "$@" > /dev/full', ...words);
      expect(await full.ended).toMatchObject({ code: 1 });
      expect(full.output()).toMatch(/^postrider: cannot write the output: ENOSPC: [^\n]*\n$/);
    },
  );

  it("ends no command and no service when only their messages cannot be written", async ({ run }) => {
    expect(await run('"$0" "$@" 2> /dev/full', "org", "list").ended).toMatchObject({ code: 0 });
    // A command of the client that has no API key.
    const client = run(`"$0" "${commandFile}" target list 2> /dev/full`);
    expect(await client.ended).toMatchObject({ code: 3 });
    const service = run('exec "$0" "$@" 2> /dev/full', "serve");
    await service.says(/"msg":"started"/);
    service.kill("SIGTERM");
    expect(await service.ended).toEqual({ code: 0, signal: null });
  });
});
