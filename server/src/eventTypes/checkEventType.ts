import type { Static } from "typebox";
import { type Read, unreadable } from "../http/contract/errors.ts";
import { isPlainLine, isPlainText, plainTextRule } from "../http/contract/plainText.ts";
import { schemaFault } from "./checkSchema.ts";
import { type EventType, maxDescriptionCharacters, maxGroupCharacters, maxJsonBytes } from "./schemas.ts";

/** A type as a request or a document gives it. */
export type GivenEventType = Omit<Static<typeof EventType>, "id" | "created_at" | "updated_at">;

/** A type that can be stored: its schema and its example as JSON texts. */
export interface CheckedEventType extends Omit<GivenEventType, "schema" | "example"> {
  schema: string | null;
  example: string | null;
}

/** Checks a type, field by field; `message` names the field. */
export function checkEventType(given: GivenEventType): Read<CheckedEventType> {
  const { name, description, group, deprecated } = given;
  const schema = given.schema === null ? null : JSON.stringify(given.schema);
  const example = given.example === null ? null : JSON.stringify(given.example);
  const message =
    (isTypeName(name) ? undefined : `name must be ${typeNameRule}, and neither . nor ..`) ??
    lengthFault("description", description, maxDescriptionCharacters) ??
    lengthFault("group", group, maxGroupCharacters) ??
    (isPlainText(description) ? undefined : `description ${plainTextRule}`) ??
    (isPlainLine(group) ? undefined : `group ${plainTextRule}`) ??
    sizeFault("schema", schema) ??
    sizeFault("example", example) ??
    (given.schema === null ? undefined : schemaFault(given.schema));
  return message === undefined
    ? { ok: true, value: { name, description, group, deprecated, schema, example } }
    : unreadable(message);
}

function lengthFault(field: string, text: string, most: number): string | undefined {
  // A character has at most two UTF-16 units, whose number is known without reading the text.
  const isLong = text.length > 2 * most || Array.from(text).length > most;
  return isLong ? `${field} must be at most ${most} characters` : undefined;
}

function sizeFault(field: string, json: string | null): string | undefined {
  const bytes = json === null ? 0 : Buffer.byteLength(json);
  return bytes > maxJsonBytes
    ? `${field} has ${bytes} bytes as JSON: ${maxJsonBytes} are allowed`
    : undefined;
}

/** The form of a type's name, in words: that of an item's type without `*`, which means a prefix in a target's list. */
const typeNameRule = "1 to 256 printable ASCII characters without *, and no blank at either end";

const typeName = /^[!-)+-~](?:[ -)+-~]{0,254}[!-)+-~])?$/;

/** Whether the catalogue can hold a type of this name. Clients resolve `.` and `..` in a path before they send it. */
export function isTypeName(text: string): boolean {
  return typeName.test(text) && text !== "." && text !== "..";
}
