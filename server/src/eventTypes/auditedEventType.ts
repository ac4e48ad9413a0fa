import { createHash } from "node:crypto";
import type { CheckedEventType } from "./checkEventType.ts";

/** A type as the audit log has it: with fingerprints of its schema and its example, which may be large. */
export interface AuditedEventType {
  id: string;
  name: string;
  description: string;
  group: string;
  deprecated: boolean;
  schema: string | null;
  example: string | null;
}

const auditedFields = ["name", "description", "group", "deprecated", "schema", "example"] as const;

/** The fields of an existing type that a PUT or an import can change. */
export const changeableFields = auditedFields.filter((field) => field !== "name");

export const auditedColumns = `t.id, t.name, t.description, t."group", t.deprecated, ${fingerprintIn("schema")}, ${fingerprintIn("example")}`;

function fingerprintIn(column: string): string {
  return `octet_length(t.${column}) || ' bytes, sha256 ' || encode(sha256(convert_to(t.${column}, 'UTF8')), 'hex') as ${column}`;
}

/** The same fingerprint for a text that is not stored yet. */
function fingerprint(text: string | null): string | null {
  if (text === null) return null;
  return `${Buffer.byteLength(text)} bytes, sha256 ${createHash("sha256").update(text).digest("hex")}`;
}

/** A type as the audit log will have it once it is stored. */
export function auditedAs(id: string, type: CheckedEventType): AuditedEventType {
  return { id, ...type, schema: fingerprint(type.schema), example: fingerprint(type.example) };
}

export function auditedOf(type: AuditedEventType): Readonly<Record<string, unknown>> {
  return Object.fromEntries(auditedFields.map((field) => [field, type[field]]));
}

export function objectOf({ id, name }: { id: string; name: string }) {
  return { kind: "event_type", id, name } as const;
}
