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

function clientLines(key: string): string {
  return `import { createClient } from "@postrider/sdk";

const postrider = createClient({
  baseUrl: "${serviceUrl}",
  apiKey: ${key.startsWith("ak_") ? `"${key}"` : key},
});`;
}

/** A consumer in TypeScript. */
export function consumeSnippet(mailboxId: string): string {
  return `import { consumeMailbox } from "@postrider/sdk/mailbox";
${clientLines("process.env.POSTRIDER_KEY")}

// A message whose handler ends without an error is acknowledged; its claim is renewed meanwhile.
const consumer = consumeMailbox(postrider, "${mailboxId}", async ({ payload }) => {
  console.log(payload);
});
await consumer.finished;`;
}

/** The requests of a consumer. */
export function consumeCurlSnippet(mailboxId: string): string {
  return `# Claim up to ten, waiting up to 20 s for the first; then acknowledge what is done.
curl -X POST ${serviceUrl}/api/v1/mailboxes/${mailboxId}/claim \\
  -H "authorization: Bearer $POSTRIDER_KEY" \\
  -H 'content-type: application/json' \\
  -d '{"max": 10, "wait_seconds": 20}'

curl -X POST ${serviceUrl}/api/v1/mailbox-messages/$MESSAGE/ack \\
  -H "authorization: Bearer $POSTRIDER_KEY"`;
}
