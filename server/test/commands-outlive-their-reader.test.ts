import { expect } from "vitest";
import { databaseTest } from "./support/fixtures.ts";
import { serviceFile, someKey, startProgram } from "./support/program.ts";

databaseTest()("an operator's command whose reader has gone ends as usual", async ({ database }) => {
  const command = [process.execPath, serviceFile, "org", "create", "acme"];
  const piped = startProgram({
    command: ["bash", "-o", "pipefail", "-c", '"$@" | true', "bash", ...command],
    env: { DATABASE_URL: database.url, POSTRIDER_ENCRYPTION_KEY: someKey },
  });
  expect(await piped.ended).toMatchObject({ code: 0 });
  expect(piped.output()).toContain('"audit":"org create"');
  expect(piped.output()).not.toContain("EPIPE");
});
