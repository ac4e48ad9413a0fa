/** A version's notes in a changelog, without the heading. @throws {Error} when the changelog has no such version. */
export function notesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## \[)/m);
  const found = sections.find((section) => section.startsWith(`## [${version}]`));
  if (found === undefined) throw new Error(`the changelog has no section [${version}]`);
  return found.slice(found.indexOf("\n") + 1).trim();
}

/**
 * Turns the unreleased notes of a changelog into those of a version.
 * @throws {Error} when the version is invalid or already in the changelog, or there are no unreleased notes.
 */
export function releasedAs(changelog: string, version: string, date: string): string {
  if (!/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(version)) throw new Error(`"${version}" is not a valid version`);
  if (changelog.includes(`## [${version}]`)) throw new Error(`${version} is in the changelog already`);
  if (notesOf(changelog, "Unreleased") === "") throw new Error("the changelog has nothing unreleased");
  return changelog.replace("## [Unreleased]", `## [Unreleased]\n\n## [${version}] - ${date}`);
}
