import { Card } from "../controls/Card.tsx";
import { Snippet } from "../controls/Copy.tsx";
import { ShownOnce } from "../controls/ShownOnce.tsx";
import { verificationSnippet } from "./verification.ts";

type SecretOnceProps = Pick<Parameters<typeof ShownOnce>[0], "secret" | "onDone" | "isKept">;

/** A signing secret, shown only once. */
export function SecretOnce(props: SecretOnceProps) {
  return (
    <Card title="Signing secret: shown only once" takesFocus>
      <div className="grid gap-4">
        <p>
          Your receiver verifies with it that deliveries come from here. Save it now: a secret that was lost
          is replaced by a new one.
        </p>
        <ShownOnce {...props} action="Continue">
          <details>
            <summary className="font-medium">How to verify a delivery</summary>
            <div className="mt-2">
              <Snippet text={verificationSnippet} name="verification snippet" />
            </div>
          </details>
        </ShownOnce>
      </div>
    </Card>
  );
}
