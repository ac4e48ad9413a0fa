import { useState } from "react";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { CopyWithWords } from "../controls/Copy.tsx";
import { verificationSnippet } from "./verification.ts";
import { Snippet } from "../controls/Copy.tsx";

/** A signing secret, shown this once: it goes on only after it was copied or declared saved. */
export function SecretOnce({ secret, onDone }: { secret: string; onDone: () => void }) {
  const [isSaved, setSaved] = useState(false);
  return (
    <Card title="The signing secret, shown this once">
      <div className="grid gap-4">
        <p>
          Your receiver verifies with it that deliveries come from here. It cannot be read again, only
          replaced.
        </p>
        <div className="flex flex-wrap items-center gap-2 rounded-control border bg-sunken p-3">
          <code className="min-w-0 flex-1 break-all">{secret}</code>
          <CopyWithWords text={secret} name="Copy" onCopied={() => setSaved(true)} />
        </div>
        <details>
          <summary className="font-medium">How to verify a delivery</summary>
          <div className="mt-2">
            <Snippet text={verificationSnippet} name="verification snippet" />
          </div>
        </details>
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={isSaved}
            onChange={(event) => setSaved(event.target.checked)}
          />
          I saved it
        </label>
        <div>
          <Button look="primary" disabled={!isSaved} onClick={onDone}>
            Go on
          </Button>
        </div>
      </div>
    </Card>
  );
}
