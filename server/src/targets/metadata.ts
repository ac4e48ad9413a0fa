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

/** @throws {ApiError} 400 when metadata is too large. */
export function checkMetadata(metadata: Metadata | null | undefined): void {
  if (metadata === null || metadata === undefined) return;
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  if (bytes > maxBytes)
    throw new ApiError(400, `metadata has ${bytes} bytes as JSON: ${maxBytes} are allowed`);
}
