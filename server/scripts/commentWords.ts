import type { SourceFile } from "./layout.ts";

/**
 * Finds lines of comments in which a sentence begins with a word such as "What" or "Of": it has no noun as its subject, so that
 * the reader has to guess the subject. @returns one message for each line.
 */
export function commentProblems({ path, text }: SourceFile): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const word =
      firstWord.exec(line)?.[1] ?? (continues(lines[at - 1]) ? undefined : opening.exec(line)?.[1]);
    return word === undefined
      ? []
      : [`${path}:${at + 1}: a sentence of the comment begins with "${word}"; begin with its subject`];
  });
}

const marker = String.raw`(?:\/\/|\/\*+|^\s*\*|--) `;
const words = "Of|What|Who|Whose|Whom|Whoever|Those";

/** Matches a word at the beginning of a comment line, which may continue a sentence of the line before. */
const opening = new RegExp(`${marker}(${words}|That) `);
/** Matches a word after the end of a sentence within a comment line. */
const firstWord = new RegExp(String.raw`${marker}.*[.?!] (${words}) `);

/** Whether a line belongs to a comment and ends within a sentence. */
function continues(line: string | undefined): boolean {
  return line !== undefined && /^\s*(?:\/\/|\/?\*+|--) .*[^.:?!/]$/.test(line);
}
