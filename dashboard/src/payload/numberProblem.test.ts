import { expect, it } from "vitest";
import { numberProblem } from "./numberProblem.ts";

it.each([
  [
    '{"a": [1, {"b": 12345678901234567891}]}',
    "12345678901234567891",
    "a whole number beyond 9007199254740991",
  ],
  ["-9007199254740993", "-9007199254740993", "a whole number beyond 9007199254740991"],
  ['{"a": 1e400}', "1e400", "a number beyond 1.79e308"],
])(
  "names a number that JavaScript would store with another value, and the limit: %s",
  (text, number, limit) => {
    const problem = numberProblem(text, "kept");
    expect(problem).toMatch(new RegExp(`^${number} is ${limit}, which `));
    expect(problem).toMatch(new RegExp(`: write it as a string, "${number}"$`));
  },
);

it.each([
  "9007199254740992",
  "1180591620717411300000",
  "12345678901234567000",
  "1e300",
  "-0",
  "-0.1",
  "100",
  '"12345678901234567891"',
  '{"12345678901234567891": null}',
  "not JSON",
  " ",
])("finds no problem in a text that is sent unchanged: %s", (text) => {
  expect(numberProblem(text, "kept")).toBeUndefined();
});

it("accepts rounding for compared numbers, but no number beyond the range of a double", () => {
  expect(numberProblem('{"maximum": 9223372036854775807}', "compared")).toBeUndefined();
  expect(numberProblem('{"maximum": -1e400}', "compared")).toContain("-1e400 is a number beyond 1.79e308");
});
