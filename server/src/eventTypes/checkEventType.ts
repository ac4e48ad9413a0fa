import { ApiError } from "../http/contract/errors.ts";
import { isPlainLine, isPlainText, plainTextRule } from "../http/contract/plainText.ts";
import { checkSchema } from "./checkSchema.ts";
import { type JsonSchema, maxDescriptionCharacters, maxGroupCharacters, maxJsonBytes } from "./schemas.ts";
import { isTypeName, typeNameRule } from "./typeName.ts";

/** What a request or a document says of a type. */
export interface GivenEventType {
  name: string;
  description: string;
  group: string;
  deprecated: boolean;
  schema: JsonSchema | null;
  /** Any JSON; null for none. */
  example: unknown;
}

/** A type that can be stored: its schema and its example as JSON texts. */
export interface CheckedEventType extends Omit<GivenEventType, "schema" | "example"> {
  schema: string | null;
  example: string | null;
}

/** @throws {ApiError} 400 that names the field. */
export function checkEventType(given: GivenEventType): CheckedEventType {
  const { name, description, group, deprecated } = given;
  if (!isTypeName(name)) throw new ApiError(400, `name must be ${typeNameRule}, and neither . nor ..`);
  checkLength("description", description, maxDescriptionCharacters);
  checkLength("group", group, maxGroupCharacters);
  if (!isPlainText(description)) throw new ApiError(400, `description ${plainTextRule}`);
  if (!isPlainLine(group)) throw new ApiError(400, `group ${plainTextRule}`);
  const schema = jsonOf("schema", given.schema);
  const example = jsonOf("example", given.example);
  if (given.schema !== null) checkSchema(given.schema);
  return { name, description, group, deprecated, schema, example };
}

function checkLength(field: string, text: string, most: number): void {
  // A character has at most two units, which are counted without looking at any.
  if (text.length > 2 * most || Array.from(text).length > most) {
    throw new ApiError(400, `${field} must be at most ${most} characters`);
  }
}

function jsonOf(field: string, value: unknown): string | null {
  if (value === null) return null;
  const text = JSON.stringify(value);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxJsonBytes) {
    throw new ApiError(400, `${field} has ${bytes} bytes as JSON: ${maxJsonBytes} are allowed`);
  }
  return text;
}
