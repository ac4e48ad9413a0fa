import { serviceUrl } from "../api/basePath.ts";
import type { Target } from "../api/shapes.ts";
import { Card } from "../controls/Card.tsx";
import { Snippet } from "../controls/Copy.tsx";

/** Commands that send to a target, and for a mailbox those that consume it. */
export function SendSnippet({ target }: { target: Pick<Target, "id" | "kind"> }) {
  return (
    <div className="grid gap-4">
      <Card title="Send">
        <div className="grid gap-3">
          <Snippet text={curlSnippet(target.id, "$POSTRIDER_KEY")} name="curl command" />
          <Snippet
            text={typescriptSnippet(target.id, "process.env.POSTRIDER_KEY")}
            name="TypeScript snippet"
          />
        </div>
      </Card>
      {target.kind === "mailbox" && (
        <Card title="Consume">
          <div className="grid gap-3">
            <Snippet text={consumeCurlSnippet(target.id)} name="consumer curl commands" />
            <Snippet text={consumeSnippet(target.id)} name="consumer snippet" />
          </div>
        </Card>
      )}
    </div>
  );
}

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

function consumeSnippet(mailboxId: string): string {
  return `import { consumeMailbox } from "@postrider/sdk/mailbox";
${clientLines("process.env.POSTRIDER_KEY")}

// A message whose handler ends without an error is acknowledged; its claim is renewed meanwhile.
const consumer = consumeMailbox(postrider, "${mailboxId}", async ({ payload }) => {
  console.log(payload);
});
await consumer.finished;`;
}

function consumeCurlSnippet(mailboxId: string): string {
  return `# Claim up to ten, waiting up to 20 s for the first; then acknowledge what is done.
curl -X POST ${serviceUrl}/api/v1/mailboxes/${mailboxId}/claim \\
  -H "authorization: Bearer $POSTRIDER_KEY" \\
  -H 'content-type: application/json' \\
  -d '{"max": 10, "wait_seconds": 20}'

curl -X POST ${serviceUrl}/api/v1/mailbox-messages/$MESSAGE/ack \\
  -H "authorization: Bearer $POSTRIDER_KEY"`;
}
