import { type TStringOptions, Type } from "typebox";

/** Direction marks, embeddings, overrides and isolates: with them a text shows as another than it is (UAX #9). */
const bidirectional = "\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069";

/** One line of text, as names are. */
const linePattern = `^[^\\p{Cc}\\p{Zl}\\p{Zp}${bidirectional}]*$`;
/** The same with line ends and tabs, as in descriptions. */
const linesPattern = `^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\x7F-\\x9F${bidirectional}]*$`;

const line = new RegExp(linePattern, "u");
const lines = new RegExp(linesPattern, "u");

/** The error for a text that breaks the rule, after the field's name. */
export const plainTextRule = "must not have control or bidirectional characters";

/** Whether a text is one line that shows as what it is. */
export function isPlainLine(text: string): boolean {
  return line.test(text);
}

/** Whether a text shows as what it is, on however many lines. */
export function isPlainText(text: string): boolean {
  return lines.test(text);
}

/** Whether a schema's pattern is one of those above. */
export function isPlainTextPattern(pattern: unknown): boolean {
  return pattern === linePattern || pattern === linesPattern;
}

/** A name: one line without control or bidirectional characters. */
export function lineOfText(options: TStringOptions) {
  return Type.String({ ...options, pattern: linePattern });
}

/** A longer text, whose only control characters are line ends and tabs. */
export function linesOfText(options: TStringOptions) {
  return Type.String({ ...options, pattern: linesPattern });
}
