/** The text of a version in a changelog, without its heading. @throws {Error} when it has none. */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## \[)/m);
  const found = sections.find((section) => section.startsWith(`## [${version}]`));
  if (found === undefined) throw new Error(`the changelog has no section [${version}]`);
  return found.slice(found.indexOf("\n") + 1).trim();
}

/**
 * The changelog with what is unreleased given to a version.
 * @throws {Error} when the version is none, is there already, or has nothing to tell.
 */
export function releasedAs(changelog: string, version: string, date: string): string {
  if (!/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(version)) throw new Error(`"${version}" is no version`);
  if (changelog.includes(`## [${version}]`)) throw new Error(`${version} is in the changelog already`);
  if (notesOf(changelog, "Unreleased") === "") throw new Error("the changelog has nothing unreleased");
  return changelog.replace("## [Unreleased]", `## [Unreleased]\n\n## [${version}] - ${date}`);
}
