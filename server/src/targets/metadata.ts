import { Type } from "typebox";
import { ApiError } from "../http/contract/errors.ts";

/** Bytes of JSON. */
const maxBytes = 4_096;

export type Metadata = Record<string, unknown>;

/** What an organization notes about something of its own. */
export const MetadataField = Type.Unsafe<Metadata>(
  Type.Record(Type.String(), Type.Unknown(), {
    description: "Any JSON object of up to 4 KiB; replaced whole",
    examples: [{ plan: "gold", region: "eu" }],
  }),
);

/** @throws {ApiError} 400 when metadata is too large, or has a number that is. */
export function checkMetadata(metadata: Metadata | null | undefined): void {
  if (metadata === null || metadata === undefined) return;
  const endless = pathOfEndless(metadata, "metadata");
  if (endless !== undefined)
    throw new ApiError(400, `${endless} is a number too large to keep: give it as a string`);
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  if (bytes > maxBytes)
    throw new ApiError(400, `metadata has ${bytes} bytes as JSON: ${maxBytes} are allowed`);
}

/** Where there is a number that JSON has no text for once it is read, such as 1e400, which would be kept as null. */
function pathOfEndless(value: unknown, path: string): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : path;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = pathOfEndless(member, `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
