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
          <Snippet text={consumeSnippet(target.id)} name="consumer snippet" />
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
  return `await fetch("${serviceUrl}/t/${targetId}", {
  method: "POST",
  headers: {
    authorization: \`Bearer \${${key.startsWith("ak_") ? `"${key}"` : key}}\`,
    "content-type": "application/json",
    "idempotency-key": "order-1001",
  },
  body: JSON.stringify({ event_type: "order.created", order: 1001 }),
});`;
}

function consumeSnippet(mailboxId: string): string {
  return `# Claim up to ten, waiting up to 20 s for the first; then acknowledge what is done.
curl -X POST ${serviceUrl}/api/v1/mailboxes/${mailboxId}/claim \\
  -H "authorization: Bearer $POSTRIDER_KEY" \\
  -H 'content-type: application/json' \\
  -d '{"max": 10, "wait_seconds": 20}'

curl -X POST ${serviceUrl}/api/v1/mailbox-messages/$MESSAGE/ack \\
  -H "authorization: Bearer $POSTRIDER_KEY"`;
}
