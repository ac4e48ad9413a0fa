import { expect } from "vitest";
import { readFileSync } from "node:fs";

const lockfile = new URL("../../../package-lock.json", import.meta.url);

/** The versions of packages in the lockfile. @throws {Error} for a package that is not in it. */
function installedVersions(names: readonly string[]): Record<string, string> {
  const { packages } = JSON.parse(readFileSync(lockfile, "utf8")) as {
    packages: Record<string, { version: string } | undefined>;
  };
  return Object.fromEntries(
    names.map((name) => {
      const found = packages[`node_modules/${name}`];
      if (found === undefined) throw new Error(`the lockfile does not install ${name}`);
      return [name, found.version];
    }),
  );
}

/** Fails when a package of the list is installed in another version than the one last reviewed. */
export function expectLookedInto(checkedVersions: Readonly<Record<string, string>>): void {
  expect(
    installedVersions(Object.keys(checkedVersions)),
    "look up each part of privateParts.ts in the new version, run the tests, and write the version there",
  ).toEqual(checkedVersions);
}
