import { isUtf8 } from "node:buffer";
import { ApiError } from "./errors.ts";

/** Parses bytes as JSON. @throws {ApiError} 400 that says where the document is wrong. */
export function parseJson(body: Buffer): unknown {
  if (body.length === 0) throw new ApiError(400, "the body is empty: send a JSON document");
  if (!isUtf8(body)) throw new ApiError(400, "the body is not valid UTF-8");
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw new ApiError(400, `the body is not valid JSON: ${describe(error as Error)}`, { cause: error });
  }
}

/** The parser's message without the piece of the document it quotes, which may hold a secret. */
function describe(error: Error): string {
  const position = /at position \d+( \(line \d+ column \d+\))?/.exec(error.message);
  if (position) return `unexpected text ${position[0]}`;
  return "it ends too early";
}
