import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { answer, client } from "../api/client.ts";
import { organizationQuery } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import type { Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { SecretText } from "../controls/ShownOnce.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";

/** Milliseconds after which a revealed secret is hidden. */
const shownMs = 60_000;

/** Lets an admin read a signing secret again, if the organization's settings allow it. */
export function RevealSecret({ target }: { target: Target }) {
  const mayReveal = useMay("admin");
  const organization = useQuery({ ...organizationQuery, enabled: mayReveal });
  if (!mayReveal || organization.data?.secrets_can_be_revealed !== true) return null;
  // A change of the target hides the revealed secret, because it may be a rotation.
  return <Revealing key={`${target.id} ${target.updated_at}`} targetId={target.id} />;
}

function Revealing({ targetId }: { targetId: string }) {
  const toggle = useRef<HTMLButtonElement>(null);
  const shown = useRef<HTMLDivElement>(null);
  const { data, reset, ...reveal } = useMutation({
    mutationFn: () =>
      answer(
        client.POST("/api/v1/targets/{id}/signing-secret/reveal", { params: { path: { id: targetId } } }),
      ),
    // The secret leaves memory when the page is left.
    gcTime: 0,
  });
  useEffect(() => {
    if (data === undefined) return undefined;
    const timer = setTimeout(() => {
      if (shown.current?.contains(document.activeElement) === true) toggle.current?.focus();
      reset();
    }, shownMs);
    return () => clearTimeout(timer);
  }, [data, reset]);
  return (
    <Card title="Reveal the signing secret">
      <div className="grid justify-items-start gap-3">
        <p className="text-muted">
          The audit log records who revealed the secret. It is hidden again after a minute.
        </p>
        <Button
          ref={toggle}
          busy={reveal.isPending}
          aria-expanded={data !== undefined}
          onClick={() => (data === undefined ? reveal.mutate() : reset())}
        >
          {data === undefined ? "Reveal secret" : "Hide secret"}
        </Button>
        {reveal.isError && <ProblemCard error={reveal.error} />}
        {data !== undefined && (
          <div ref={shown} className="grid w-full gap-3">
            <SecretText secret={data.secret} />
            {data.previous_secret !== undefined && (
              <div className="grid gap-2">
                <p className="text-muted">
                  The previous secret, which signs beside it until the rotation ends:
                </p>
                <SecretText secret={data.previous_secret} copy="Copy the previous secret" />
              </div>
            )}
          </div>
        )}
      </div>
    </Card>
  );
}
