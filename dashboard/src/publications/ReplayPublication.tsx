import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Publication } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Confirm } from "../controls/FormDialog.tsx";
import { NewWebhookId } from "../replays/NewWebhookId.tsx";
import { counted, replayedText } from "./outcomes.ts";
import { type ReplayedTo, replayPublication } from "./publicationQueries.ts";

interface ReplayPublicationProps {
  publication: Publication;
  /** Number of its items that failed or are dead; a replayed item counts by the status of its latest replay. */
  failed: number;
}

/** Replays a publication. It explains the consequences before, and shows the result afterwards. */
export function ReplayPublication({ publication, failed }: ReplayPublicationProps) {
  const [asks, setAsks] = useState<ReplayedTo>();
  const [result, setResult] = useState("");
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap gap-2">
        <Button
          disabled={failed === 0}
          title={failed === 0 ? "No item failed" : undefined}
          onClick={() => setAsks("failed")}
        >
          Replay to failed targets…
        </Button>
        <Button onClick={() => setAsks("added")}>Send to targets added since…</Button>
      </div>
      <p role="status" className="text-form empty:hidden">
        {result}
      </p>
      {asks !== undefined && (
        <ConfirmReplay
          publication={publication}
          failed={failed}
          to={asks}
          onResult={setResult}
          onClose={() => setAsks(undefined)}
        />
      )}
    </div>
  );
}

interface ConfirmReplayProps extends ReplayPublicationProps {
  to: ReplayedTo;
  onResult: (text: string) => void;
  onClose: () => void;
}

function ConfirmReplay({ publication, failed, to, onResult, onClose }: ConfirmReplayProps) {
  const queries = useQueryClient();
  const [isNewWebhookId, setIsNewWebhookId] = useState(false);
  const replay = useMutation({
    mutationFn: () => replayPublication(publication.id, to, isNewWebhookId),
    onSuccess: (replayed) => {
      onResult(replayedText(to, replayed));
    },
    onSettled: () => {
      for (const key of ["publications", "items", "itemList", "mailboxes"])
        void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  return (
    <Confirm
      title={to === "failed" ? "Replay to failed targets?" : "Send to targets added since?"}
      onClose={onClose}
      action={to === "failed" ? `Replay ${counted(failed, "item")}` : "Send"}
      doing={replay}
    >
      {to === "failed" ? <OfFailed failed={failed} /> : <OfAdded customer={publication.customer_uid} />}
      {to === "failed" && <NewWebhookId isChecked={isNewWebhookId} onChange={setIsNewWebhookId} />}
    </Confirm>
  );
}

function OfFailed({ failed }: { failed: number }) {
  return (
    <p>
      {failed === 1
        ? "1 item failed or is dead. It is sent once more, as a new item with the same payload."
        : `${failed.toLocaleString("en")} items failed or are dead. Each is sent once more, as a new item with the same payload.`}{" "}
      Replays are not billed. Items whose replay is in progress or succeeded are skipped.
    </p>
  );
}

function OfAdded({ customer }: { customer: string | null }) {
  return (
    <p>
      It goes to each target of {customer === null ? "no customer" : <code>{customer}</code>} that it would
      reach now and did not reach yet: those made, enabled or given a matching type or filter since. Each gets
      a new item, which is billed like any other. No target gets it twice.
    </p>
  );
}
