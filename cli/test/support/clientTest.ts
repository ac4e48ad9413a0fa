import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { file, sharedServiceTest } from "../../../server/test/support/fixtures.ts";
import { type Ran, run } from "./command.ts";

/**
 * Fixtures for tests of commands: a `service` shared with other files, an `account` on it, a `place` for files, and an `env` with
 * which commands call the service and keep their configuration in the place. `postrider` runs a command with that `env`;
 * `inFile` writes JSON to a file in the place and returns its path.
 */
export const clientTest = sharedServiceTest()
  .extend("place", file, ({}, { onCleanup }) => {
    const place = mkdtempSync(join(tmpdir(), "postrider-command-"));
    onCleanup(() => rmSync(place, { recursive: true, force: true }));
    return place;
  })
  .extend("env", file, ({ service, account, place }): Record<string, string> => ({
    POSTRIDER_URL: service.url,
    POSTRIDER_KEY: account.api_key,
    XDG_CONFIG_HOME: place,
  }))
  .extend(
    "postrider",
    file,
    ({ env }) =>
      (line: string | readonly string[], input = ""): Promise<Ran> =>
        run(typeof line === "string" ? line.split(" ") : [...line], { env, input }),
  )
  .extend("inFile", file, ({ place }) => (name: string, value: unknown): string => {
    const path = join(place, name);
    writeFileSync(path, JSON.stringify(value));
    return path;
  });
