import { useMutation } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { answer, client } from "../api/client.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { CopyWithWords } from "../controls/Copy.tsx";
import { ConfirmButton } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Moment } from "../time/Moment.tsx";

/** Creates links to the customer's portal, and revokes its links and sessions. */
export function PortalLink({ uid }: { uid: string }) {
  const params = { path: { uid } };
  const make = useMutation({
    mutationFn: () => answer(client.POST("/api/v1/customers/{uid}/portal-links", { params })),
  });
  const end = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/customers/{uid}/portal-sessions", { params })),
    onSuccess: ({ ended_sessions: sessions }) => {
      make.reset();
      toast({ text: sessions === 0 ? "No session was open." : `Sessions ended: ${sessions}.` });
    },
  });
  return (
    <Card title="Portal">
      <div className="grid gap-3">
        <p className="text-muted">
          There the customer sees and changes its own webhooks, and what they were sent. A link works once,
          within the hour.
        </p>
        {make.data !== undefined && (
          <div className="flex flex-wrap items-center gap-2 rounded-control border bg-sunken p-3">
            <code className="min-w-0 flex-1 break-all">{make.data.url}</code>
            <CopyWithWords text={make.data.url} name="Copy" />
            <span className="basis-full text-meta text-muted">
              Until <Moment at={make.data.expires_at} />
            </span>
          </div>
        )}
        {make.isError && <ProblemCard error={make.error} />}
        <div className="flex flex-wrap gap-2">
          <Button
            icon={<ExternalLink size={14} aria-hidden />}
            busy={make.isPending}
            onClick={() => make.mutate()}
          >
            Create link
          </Button>
          <ConfirmButton
            text="Revoke portal sessions…"
            look="quiet"
            title="Revoke the customer's portal sessions?"
            action="Revoke"
            doing={end}
          >
            <p>Open sessions end, and unused links stop working. The customer needs a new link.</p>
          </ConfirmButton>
        </div>
      </div>
    </Card>
  );
}
