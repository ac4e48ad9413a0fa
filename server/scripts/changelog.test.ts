import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { notesOf, releasedAs } from "./changelog.ts";

const real = readFileSync(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
/** The real one with a change to release, which it lacks right after a release. */
const changelog = real.replace("## [Unreleased]", "## [Unreleased]\n\n### Added\n\n- A change.");

test("the version of the packages has its notes", () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  expect(notesOf(real, version)).not.toBe("");
});

test("what is unreleased becomes a version's, whose notes are what was unreleased", () => {
  const unreleased = notesOf(changelog, "Unreleased");
  const after = releasedAs(changelog, "99.1.0", "2099-01-31");
  expect(notesOf(after, "99.1.0")).toBe(unreleased);
  expect(notesOf(after, "Unreleased")).toBe("");
  expect(after).toContain("## [99.1.0] - 2099-01-31");
});

test("a release of nothing, of no version, or once more is refused", () => {
  const after = releasedAs(changelog, "99.1.0", "2099-01-31");
  expect(() => releasedAs(after, "99.2.0", "2099-02-01")).toThrow("nothing unreleased");
  expect(() => releasedAs(changelog, "v1", "2099-02-01")).toThrow("no version");
  expect(() => releasedAs(after, "99.1.0", "2099-02-01")).toThrow("already");
  expect(() => notesOf(changelog, "98.0.0")).toThrow("no section [98.0.0]");
});
