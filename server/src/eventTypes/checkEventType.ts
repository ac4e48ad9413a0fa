import type { Static } from "typebox";
import { type Read, unreadable } from "../http/contract/errors.ts";
import { isPlainLine, isPlainText, plainTextRule } from "../http/contract/plainText.ts";
import { forms } from "../http/contract/textForms.ts";
import { schemaFault } from "./checkSchema.ts";
import { type EventType, maxDescriptionCharacters, maxGroupCharacters, maxJsonBytes } from "./schemas.ts";

/** An event type as a request or an OpenAPI document gives it. */
export type GivenEventType = Omit<Static<typeof EventType>, "id" | "created_at" | "updated_at">;

/** An event type in the form in which it is stored: with its schema and its example as JSON text. */
export interface CheckedEventType extends Omit<GivenEventType, "schema" | "example"> {
  schema: string | null;
  example: string | null;
}

/** Checks an event type, field by field; `message` names the field at fault. */
export function checkEventType(given: GivenEventType): Read<CheckedEventType> {
  const { name, description, group, deprecated } = given;
  const schema = given.schema === null ? null : JSON.stringify(given.schema);
  const example = given.example === null ? null : JSON.stringify(given.example);
  const message =
    (isTypeName(name) ? undefined : `name must be ${typeNameRule}, but not . or ..`) ??
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
  // A character has at most two UTF-16 code units, and `length` counts these without reading the text.
  const isLong = text.length > 2 * most || Array.from(text).length > most;
  return isLong ? `${field} must be at most ${most} characters` : undefined;
}

function sizeFault(field: string, json: string | null): string | undefined {
  const bytes = json === null ? 0 : Buffer.byteLength(json);
  return bytes > maxJsonBytes
    ? `${field} has ${bytes} bytes as JSON: ${maxJsonBytes} are allowed`
    : undefined;
}

/** The rule for names of event types, in words. `*` is excluded, because it means a prefix in a target's `event_types`. */
const typeNameRule =
  "1 to 256 printable ASCII characters without *, and without a space at the beginning or end";

const typeName = new RegExp(forms.pathEventType[0]);

/** Whether an event type may have this name, which becomes a path segment. */
export function isTypeName(text: string): boolean {
  return typeName.test(text);
}
