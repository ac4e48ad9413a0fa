import { expect, test } from "vitest";
import { ApiError } from "../http/contract/errors.ts";
import { exitCodeOf } from "./exitCodeOf.ts";

/** As `docs/command-line.md` has them. */
test.each([
  [new ApiError(404, "there is no organization nobody"), 4],
  [new ApiError(409, "the address has an account"), 5],
  [new ApiError(400, "name must not be empty"), 2],
  [new ApiError(503, "try again"), 1],
  [new Error("anything else"), 1],
])("%s ends a command with %d", (error, code) => {
  expect(exitCodeOf(error)).toBe(code);
});
