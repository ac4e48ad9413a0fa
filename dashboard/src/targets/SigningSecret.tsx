import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { answer, client } from "../api/client.ts";
import type { Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Snippet } from "../controls/Copy.tsx";
import { For } from "../controls/For.tsx";
import { ConfirmButton } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { Moment } from "../time/Moment.tsx";
import { RevealSecret } from "./RevealSecret.tsx";
import { RotateDialog } from "./RotateDialog.tsx";
import { SecretOnce } from "./SecretOnce.tsx";
import { verificationSnippet } from "./verification.ts";

/** A webhook's signing secret: rotation as three steps, none of which loses a delivery. */
export function SigningSecret({ target }: { target: Target }) {
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined) return <SecretOnce secret={secret} onDone={() => setSecret(undefined)} />;
  return (
    <div className="grid gap-4">
      <For least="member">
        <Card title="Rotate the signing secret">
          <ol className="grid gap-4">
            <RotateStep target={target} onSecret={setSecret} />
            <Step number={2} title="Add it to your receiver" isDone={false}>
              From the first step on, each delivery carries both signatures, so that your receiver verifies
              with either. Change it whenever it suits you.
            </Step>
            <EndStep target={target} />
          </ol>
        </Card>
      </For>
      <RevealSecret target={target} />
      <Card title="Verify deliveries">
        <Snippet text={verificationSnippet} name="verification snippet" />
      </Card>
    </div>
  );
}

function Step({
  number,
  title,
  isDone,
  children,
}: {
  number: number;
  title: string;
  isDone: boolean;
  children: ReactNode;
}) {
  return (
    <li className="grid grid-cols-[28px_minmax(0,1fr)] gap-2">
      <span
        className={`figures inline-flex size-6 items-center justify-center rounded-pill text-meta font-semibold ${isDone ? "bg-delivered-bg text-delivered" : "bg-sunken"}`}
      >
        {number}
      </span>
      <div className="grid justify-items-start gap-2">
        <h3 className="font-semibold">{title}</h3>
        <div className="text-muted">{children}</div>
      </div>
    </li>
  );
}

function RotateStep({ target, onSecret }: { target: Target; onSecret: (secret: string) => void }) {
  const [asks, setAsks] = useState(false);
  const isRotating = target.has_previous_signing_secret === true;
  return (
    <Step number={1} title="Create a new secret" isDone={isRotating}>
      <p className="mb-2">
        {isRotating
          ? "A rotation is in progress: deliveries carry the signatures of the new and the previous secret."
          : "It is shown once. Deliveries are signed with both secrets until the rotation ends."}
      </p>
      <Button look={isRotating ? "plain" : "primary"} onClick={() => setAsks(true)}>
        {isRotating ? "Create another…" : "Create a new secret…"}
      </Button>
      {asks && <RotateDialog target={target} onSecret={onSecret} onClose={() => setAsks(false)} />}
    </Step>
  );
}

function EndStep({ target }: { target: Target }) {
  const queries = useQueryClient();
  const isRotating = target.has_previous_signing_secret === true;
  const end = useMutation({
    mutationFn: () =>
      answer(
        client.DELETE("/api/v1/targets/{id}/signing-secret/previous", {
          params: { path: { id: target.id } },
        }),
      ),
    onSuccess: () => {
      toast({ text: "The previous secret no longer signs." });
      void queries.invalidateQueries({ queryKey: ["targets"] });
    },
  });
  return (
    <Step number={3} title="Delete the previous secret" isDone={false}>
      <p className="mb-2">
        {!isRotating ? (
          "There is none: no rotation is in progress."
        ) : target.previous_signing_secret_until === undefined ? (
          "Once your receiver verifies with the new one."
        ) : (
          <>
            It ends by itself at <Moment at={target.previous_signing_secret_until} />. Delete it sooner once
            your receiver verifies with the new one.
          </>
        )}
      </p>
      <ConfirmButton
        text="Delete the previous secret…"
        look="plain"
        disabled={!isRotating}
        title="Delete the previous secret?"
        action="Delete"
        doing={end}
      >
        <p>
          Deliveries are signed with the new secret alone. A receiver that still verifies with the previous
          one refuses them.
        </p>
      </ConfirmButton>
    </Step>
  );
}
