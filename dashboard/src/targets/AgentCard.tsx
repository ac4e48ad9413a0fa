import { useMutation, useQueryClient } from "@tanstack/react-query";
import { RefreshCw } from "lucide-react";
import { answer, client } from "../api/client.ts";
import type { Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card, Facts } from "../controls/Card.tsx";
import { For } from "../controls/For.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Ago } from "../time/Moment.tsx";

/** An agent's card, its signature, and the error of the latest refresh. */
export function AgentCard({ target }: { target: Target }) {
  const refresh = useRefreshCard(target.id);
  const consent = neededConsent(target);
  return (
    <Card
      title="Agent card"
      aside={
        <For least="member">
          <Button
            icon={<RefreshCw size={14} aria-hidden />}
            busy={refresh.isPending}
            onClick={() => refresh.mutate({})}
          >
            Refresh the card
          </Button>
        </For>
      }
    >
      <div className="grid gap-4">
        <Facts
          facts={[
            ["Name", target.agent_name ?? "–"],
            ["Version", target.agent_version ?? "–"],
            [
              "Card",
              <span key="card" className="break-all">
                {target.agent_card_url ?? "–"}
              </span>,
            ],
            [
              "Messages go to",
              <span key="url" className="break-all">
                {target.url ?? "–"}
              </span>,
            ],
            ["Authentication", target.auth?.type ?? "none"],
            [
              "Read",
              target.card_fetched_at === undefined ? "–" : <Ago key="read" at={target.card_fetched_at} />,
            ],
            ["Signature", signatureWords(target)],
          ]}
        />
        {typeof target.card_error === "string" && (
          <div className="rounded-control bg-retrying-bg p-3 text-retrying">
            <p className="font-medium">The card could not be refreshed; the last usable card stays in use.</p>
            <p className="wrap-anywhere">{target.card_error}</p>
          </div>
        )}
        {consent !== undefined && <ConsentNeeded consent={consent} onGiven={() => refresh.mutate(consent)} />}
        {refresh.isError && <ProblemCard error={refresh.error} />}
      </div>
    </Card>
  );
}

function ConsentNeeded({ consent, onGiven }: { consent: Consent; onGiven: () => void }) {
  const { confirm_origin: origin, confirm_signature: signature } = consent;
  return (
    <div className="grid justify-items-start gap-2 rounded-control bg-claimed-bg p-3 text-claimed">
      {origin !== undefined && (
        <p>
          A newer card moves the agent to <strong className="break-all">{origin}</strong>. Its credential goes
          there only if you agree.
        </p>
      )}
      {signature !== undefined && (
        <p>
          The signature of the card in use is verified. That of the newer card is{" "}
          {signature === "none" ? "missing" : signature}.
        </p>
      )}
      <For least="member">
        <Button onClick={onGiven}>Confirm and use the card</Button>
      </For>
    </div>
  );
}

function signatureWords(target: Target): string {
  const detail = target.card_signature_detail ? `: ${target.card_signature_detail}` : "";
  const words: Record<string, string> = {
    verified: `Verified by the keys of ${target.card_signature_keys ?? "its origin"}`,
    unverified: `Not verified, no key could be fetched${detail}`,
    invalid: `Invalid, the signature does not match the key${detail}`,
  };
  return words[target.card_signature ?? ""] ?? "The card is not signed";
}

type Consent = Partial<Record<"confirm_origin" | "confirm_signature", string>>;

function neededConsent({ offered_origin: origin, offered_signature: state }: Target): Consent | undefined {
  if (!origin && !state) return undefined;
  return { ...(origin && { confirm_origin: origin }), ...(state && { confirm_signature: state }) };
}

function useRefreshCard(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (consent: Consent) =>
      answer(client.POST("/api/v1/targets/{id}/refresh", { params: { path: { id } }, body: consent })),
    onSuccess: () => toast({ text: "The card was read again." }),
    onSettled: () => void queries.invalidateQueries({ queryKey: ["targets"] }),
  });
}
