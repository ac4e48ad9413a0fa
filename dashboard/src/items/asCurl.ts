import { serviceUrl } from "../api/basePath.ts";

/** A command that sends the same payload to the same target again, as a new item. It takes the key from `$POSTRIDER_KEY`. */
export function asCurl(targetId: string, eventType: string, payload: string | undefined): string {
  const lines = [
    `curl ${serviceUrl}/t/${targetId}`,
    `  -H 'authorization: Bearer '"$POSTRIDER_KEY"`,
    `  -H 'content-type: application/json'`,
    ...(eventType === "" ? [] : [`  -H ${quote(`x-event-type: ${eventType}`)}`]),
    `  -d ${payload === undefined ? "@payload.json" : quote(payload)}`,
  ];
  return lines.join(" \\\n");
}

/** Quotes any text as one shell word. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
