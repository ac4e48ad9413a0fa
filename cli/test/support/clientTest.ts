import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { file, sharedServiceTest } from "../../../server/test/support/fixtures.ts";

/**
 * What tests of commands have: a `service` that other files use as well, an `account` of it, a `place` for files, and the `env`
 * of commands that talk to the service and keep what they remember in the place.
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
  }));
