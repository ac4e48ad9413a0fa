import { expect, test } from "vitest";
import { CommandError, exitCodeOf } from "./commandError.ts";

/** The exit codes as documented in `docs/command-line.md`. */
test.each([
  [new CommandError("there is no organization nobody", "notFound"), 4],
  [new CommandError("the address has an account", "conflict"), 5],
  [new CommandError("name must not be empty", "usage"), 2],
  [new CommandError("try again", "failed"), 1],
  [new Error("anything else"), 1],
])("%s ends a command with %d", (error, code) => {
  expect(exitCodeOf(error)).toBe(code);
});
