import { serviceUrl } from "../api/basePath.ts";

export function curlSnippet(targetId: string, key: string): string {
  return `curl ${serviceUrl}/t/${targetId} \\
  -H "authorization: Bearer ${key}" \\
  -H 'content-type: application/json' \\
  -d '{"event_type": "order.created", "order": 1001}'`;
}

export function typescriptSnippet(targetId: string, key: string): string {
  return `${clientLines(key)}

await postrider.sendItem(
  "${targetId}",
  { event_type: "order.created", order: 1001 },
  { idempotencyKey: "order-1001" },
);`;
}

/** The lines that create a client of the SDK. */
export function clientLines(key: string): string {
  return `import { createClient } from "@postrider/sdk";

const postrider = createClient({
  baseUrl: "${serviceUrl}",
  apiKey: ${key.startsWith("ak_") ? `"${key}"` : key},
});`;
}
