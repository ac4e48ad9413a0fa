import type { Target } from "../api/shapes.ts";
import { Card } from "../controls/Card.tsx";
import { Snippet } from "../controls/Copy.tsx";
import { kindOf } from "./kinds/kinds.ts";
import { curlSnippet, typescriptSnippet } from "./sendSnippets.ts";

/** Commands that send to a target, and for a mailbox also commands that consume its messages. */
export function SendSnippet({ target }: { target: Pick<Target, "id" | "kind"> }) {
  const { Consuming } = kindOf(target);
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
      {Consuming !== undefined && <Consuming targetId={target.id} />}
    </div>
  );
}
