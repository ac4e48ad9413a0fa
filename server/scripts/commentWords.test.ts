import { expect, it } from "vitest";
import { commentProblems } from "./commentWords.ts";

function linesOf(text: string): number[] {
  return commentProblems({ path: "a.ts", text }).map((problem) => Number(/^a\.ts:(\d+): /.exec(problem)![1]));
}

// The words are inserted into the texts, so that this file itself passes the check.
it.each(["What", "Of", "Who", "Whose", "Whom", "Whoever", "Those"])("%s may not begin a sentence", (word) => {
  for (const comment of [
    `/** ${word} it is. */`,
    `/* ${word} it is. */`,
    `// ${word} it is.`,
    `  -- ${word} it is.`,
    `const a = 1; // ${word} it is.`,
    `/** It is so. ${word} it is. */`,
  ]) {
    expect(linesOf(comment), comment).toEqual([1]);
  }
  expect(linesOf(`/**\n * ${word} it is.\n */`)).toEqual([2]);
  expect(linesOf(`/**\n * It is so.\n * ${word} it is.\n */`)).toEqual([3]);
});

it("a comment may not begin with a demonstrative pronoun", () => {
  const word = "That";
  expect(linesOf(`// ${word} share has lapsed.`)).toEqual([1]);
  expect(linesOf(`// The share has lapsed. ${word} is usual.`)).toEqual([]);
});

it("a sentence may continue on the next line, and strings are not comments", () => {
  const word = "What";
  expect(linesOf(`// It says\n// ${word} it is.`)).toEqual([]);
  expect(linesOf(`/**\n * It says\n * ${word} it is.\n */`)).toEqual([]);
  expect(linesOf(`const a = "${word} it is";`)).toEqual([]);
});
