import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { notesOf, releasedAs } from "./changelog.ts";

const real = readFileSync(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
/** The real changelog plus an unreleased change, because it has none right after a release. */
const changelog = real.replace("## [Unreleased]", "## [Unreleased]\n\n### Added\n\n- A change.");

test("the changelog has notes for the packages' version", () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  expect(notesOf(real, version)).not.toBe("");
});

test("a release turns the unreleased notes into the notes of a version", () => {
  const unreleased = notesOf(changelog, "Unreleased");
  const after = releasedAs(changelog, "99.1.0", "2099-01-31");
  expect(notesOf(after, "99.1.0")).toBe(unreleased);
  expect(notesOf(after, "Unreleased")).toBe("");
  expect(after).toContain("## [99.1.0] - 2099-01-31");
});

test("a release is refused without changes, without a valid version, or for a released version", () => {
  const after = releasedAs(changelog, "99.1.0", "2099-01-31");
  expect(() => releasedAs(after, "99.2.0", "2099-02-01")).toThrow("nothing unreleased");
  expect(() => releasedAs(changelog, "v1", "2099-02-01")).toThrow("not a valid version");
  expect(() => releasedAs(after, "99.1.0", "2099-02-01")).toThrow("already");
  expect(() => notesOf(changelog, "98.0.0")).toThrow("no section [98.0.0]");
});
