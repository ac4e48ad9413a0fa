import { expect, test } from "vitest";
import { breaches, budgetText } from "./compareBudget.ts";

const accept = { statements: 1 / 64, walBytes: 961.6, heapBytes: 4_203.4 };
const budget = { accept };

test("a figure within 3 % of its budget is no breach", () => {
  const near = { statements: 1 / 64, walBytes: 961.6 * 1.029, heapBytes: 4_203.4 * 0.971 };
  expect(breaches({ accept: near }, budget)).toEqual([]);
});

test("a figure above or below its budget is reported with the budget and the command", () => {
  const changed = { statements: 2 / 64, walBytes: 900, heapBytes: 4_203.4 };
  expect(breaches({ accept: changed }, budget)).toEqual([
    '"accept" costs 0.03125 statements an item, 100.0 % more than its budget of 0.01563: spend less, or run npm run bench -- budget --write and commit the file with the reason',
    '"accept" costs 900 bytes of WAL an item, 6.4 % less than its budget of 961.6: run npm run bench -- budget --write and commit the file, to keep the lower cost',
  ]);
});

test("a path without a budget and a budget without a path are reported", () => {
  expect(breaches({ claim: accept }, budget)).toEqual([
    '"claim" has no budget: run npm run bench -- budget --write',
    '"accept" has a budget and is not measured: run npm run bench -- budget --write',
  ]);
});

test("the written budget is read as the same figures, rounded", () => {
  const text = budgetText({ accept, claim: { ...accept, heapBytes: 99_031.7 } });
  const read = JSON.parse(text) as typeof budget;
  expect(read).toEqual({
    accept: { statements: 0.01563, walBytes: 961.6, heapBytes: 4_203 },
    claim: { statements: 0.01563, walBytes: 961.6, heapBytes: 99_032 },
  });
  expect(breaches({ accept, claim: { ...accept, heapBytes: 99_031.7 } }, read)).toEqual([]);
});
