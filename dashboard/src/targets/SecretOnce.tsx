import { Card } from "../controls/Card.tsx";
import { Snippet } from "../controls/Copy.tsx";
import { ShownOnce } from "../controls/ShownOnce.tsx";
import { verificationSnippet } from "./verification.ts";

interface SecretOnceProps extends Pick<Parameters<typeof ShownOnce>[0], "secret" | "onDone" | "isKept"> {
  /** The name of the target, where a page may show the secrets of several. */
  of?: string;
}

/** A signing secret, shown only once. */
export function SecretOnce({ of, ...props }: SecretOnceProps) {
  return (
    <Card title={`Signing secret${of === undefined ? "" : ` of ${of}`}: shown only once`} takesFocus>
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
