import type { Static } from "typebox";
import { CallRefusedError } from "./interfaceCall.ts";
import type { PayloadPart } from "./schemas.ts";
import type { ToolContext } from "./tool.ts";

/** The most bytes of payloads in one answer. */
export const maxPayloadBytes = 32 * 1024;

/** A part of an item's payload, unchanged; null when the payload no longer exists. */
export async function readPayloadPart(
  { callInterface, signal }: ToolContext,
  itemId: string,
  offsetBytes = 0,
  limitBytes: number = maxPayloadBytes,
): Promise<Static<typeof PayloadPart> | null> {
  const path = `/api/v1/events/${itemId}/payload`;
  try {
    const bytes = await callInterface({ method: "GET", path, isRepeatable: true, signal });
    return partOf(bytes, offsetBytes, limitBytes);
  } catch (error) {
    if (error instanceof CallRefusedError && [404, 410].includes(error.status)) return null;
    throw error;
  }
}

/** A part of a text. Cuts between characters, so that the parts together are the whole text. */
export function partOf(bytes: Buffer, offsetBytes: number, limitBytes: number): Static<typeof PayloadPart> {
  const from = characterStart(bytes, offsetBytes);
  const to = characterStart(bytes, from + limitBytes);
  return {
    text: bytes.toString("utf8", from, to),
    offset_bytes: from,
    total_bytes: bytes.length,
    next_offset_bytes: to < bytes.length ? to : null,
  };
}

/** The offset of the first byte of the UTF-8 character at `offset`. */
function characterStart(bytes: Buffer, offset: number): number {
  let start = Math.min(offset, bytes.length);
  while (start > 0 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start--;
  return start;
}
