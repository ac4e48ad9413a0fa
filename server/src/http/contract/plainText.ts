import { type TStringOptions, Type } from "typebox";

/** Direction marks, embeddings, overrides and isolates, with which a text can look like another text (UAX #9). */
const bidirectional = "\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069";

/** Pattern of one line of text, for names. Not `\p{Cc}`: Python, and JavaScript without the flag u, do not know it. */
export const linePattern = `^[^\\x00-\\x1F\\x7F-\\x9F\\u2028\\u2029${bidirectional}]*$`;
/** Pattern of several lines, with line ends and tabs, for descriptions. */
export const linesPattern = `^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\x7F-\\x9F${bidirectional}]*$`;

const line = new RegExp(linePattern, "u");
const lines = new RegExp(linesPattern, "u");

/** The message for a text that breaks the rule, as words after the field's name. */
export const plainTextRule = "must not have control or bidirectional characters";

/** Whether a text is one line without control or bidirectional characters. */
export function isPlainLine(text: string): boolean {
  return line.test(text);
}

/** Whether a text, of any number of lines, has no control or bidirectional characters except line ends and tabs. */
export function isPlainText(text: string): boolean {
  return lines.test(text);
}

/** A name: one line without control or bidirectional characters. */
export function lineOfText(options: TStringOptions) {
  return Type.String({ ...options, pattern: linePattern });
}

/** A longer text, whose only control characters are line ends and tabs. */
export function linesOfText(options: TStringOptions) {
  return Type.String({ ...options, pattern: linesPattern });
}
