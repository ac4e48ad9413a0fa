/**
 * The template literals and double-quoted strings of a TypeScript file, with each inserted value replaced by `$1`. Texts within
 * an inserted value are returned separately.
 */
export function templateTexts(source: string): string[] {
  const texts: string[] = [];
  for (let at = 0; at < source.length;) at = skipPart(source, at, texts);
  return texts;
}

/** Skips a comment, a text, or one character. @returns the position after it. */
function skipPart(source: string, at: number, texts: string[]): number {
  if (source.startsWith("//", at)) return endOf(source, "\n", at);
  if (source.startsWith("/*", at)) return endOf(source, "*/", at + 2);
  if (source[at] === "`") return readTemplate(source, at + 1, texts);
  if (source[at] === '"') return readQuoted(source, at + 1, texts);
  return at + 1;
}

function readTemplate(source: string, from: number, texts: string[]): number {
  let text = "";
  let at = from;
  while (at < source.length && source[at] !== "`") {
    if (source.startsWith("${", at)) {
      at = skipValue(source, at + 2, texts);
      text += "$1";
    } else {
      text += source[at];
      at += source[at] === "\\" ? 2 : 1;
    }
  }
  texts.push(text);
  return at + 1;
}

function skipValue(source: string, from: number, texts: string[]): number {
  let depth = 1;
  let at = from;
  while (at < source.length && depth > 0) {
    if (source[at] === "{") depth++;
    if (source[at] === "}") depth--;
    at = skipPart(source, at, texts);
  }
  return at;
}

function readQuoted(source: string, from: number, texts: string[]): number {
  const [text] = /^(?:[^"\\\n]|\\.)*/.exec(source.slice(from, from + 4_000)) ?? [""];
  texts.push(text);
  return from + text.length + 1;
}

function endOf(source: string, mark: string, from: number): number {
  const at = source.indexOf(mark, from);
  return at === -1 ? source.length : at + mark.length;
}
