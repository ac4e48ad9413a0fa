/** Quoted text, in which a semicolon ends nothing, and semicolons. Nested comments and `begin atomic` are not told apart. */
const tokens =
  /\b[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$|--[^\n]*|\/\*[^]*?\*\/|;/g;

const onlyComments = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*$/;

/** The statements of an SQL text in their order, each with the comments before it and without its semicolon. */
export function splitStatements(text: string): string[] {
  const ends = [...text.matchAll(tokens)].filter(([token]) => token === ";").map(({ index }) => index);
  return [...ends, text.length]
    .map((end, number) => text.slice(number === 0 ? 0 : ends[number - 1]! + 1, end).trim())
    .filter((statement) => !onlyComments.test(statement));
}
