/** Parsed JSON whose numbers keep their digits, such as 12345678901234567890. */
export type JsonNode =
  | { kind: "object"; entries: readonly (readonly [key: string, value: JsonNode])[] }
  | { kind: "array"; items: readonly JsonNode[] }
  | { kind: "string" | "number" | "literal"; text: string };

/** Deeper documents are shown as text. */
const maxDepth = 200;

const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const string = /"(?:[^"\\]|\\.)*"/y;
const literal = /true|false|null/y;
const space = /[ \t\r\n]*/y;

/** Parses without turning numbers into doubles; undefined when the text is not JSON or too deep for a tree. */
export function parseLossless(text: string): JsonNode | undefined {
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const skip = (character: string): boolean => {
    take(space);
    if (text[at] !== character) return false;
    at += 1;
    take(space);
    return true;
  };
  function value(depth: number): JsonNode {
    if (depth > maxDepth) throw new SyntaxError("too deep");
    take(space);
    if (skip("{")) return { kind: "object", entries: many("}", () => entry(depth)) };
    if (skip("[")) return { kind: "array", items: many("]", () => value(depth + 1)) };
    const quoted = take(string);
    if (quoted !== undefined) return { kind: "string", text: quoted };
    const digits = take(number);
    if (digits !== undefined) return { kind: "number", text: digits };
    const word = take(literal);
    if (word !== undefined) return { kind: "literal", text: word };
    throw new SyntaxError(`unexpected character at ${at}`);
  }
  function entry(depth: number): readonly [string, JsonNode] {
    const key = take(string);
    if (key === undefined || !skip(":")) throw new SyntaxError(`a key is expected at ${at}`);
    return [key, value(depth + 1)];
  }
  function many<T>(end: string, one: () => T): T[] {
    const found: T[] = [];
    if (skip(end)) return found;
    do found.push(one());
    while (skip(","));
    if (!skip(end)) throw new SyntaxError(`${end} is expected at ${at}`);
    return found;
  }
  try {
    const node = value(0);
    take(space);
    return at === text.length ? node : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
