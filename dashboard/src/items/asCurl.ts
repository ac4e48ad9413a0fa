import { serviceUrl } from "../api/basePath.ts";

/** A command that sends the same payload to the same target again, as a new item; the key is left for the reader. */
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

/** One shell word, whatever the text holds. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
