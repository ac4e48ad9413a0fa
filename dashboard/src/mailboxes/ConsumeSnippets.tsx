import { serviceUrl } from "../api/basePath.ts";
import { Card } from "../controls/Card.tsx";
import { Snippet } from "../controls/Copy.tsx";
import { clientLines } from "../targets/sendSnippets.ts";

/** Commands and code that consume a mailbox. */
export function ConsumeSnippets({ targetId }: { targetId: string }) {
  return (
    <Card title="Consume">
      <div className="grid gap-3">
        <Snippet text={consumeCurlSnippet(targetId)} name="consumer curl commands" />
        <Snippet text={consumeSnippet(targetId)} name="consumer snippet" />
      </div>
    </Card>
  );
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
