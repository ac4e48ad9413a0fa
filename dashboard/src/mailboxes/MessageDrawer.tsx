import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import { callJson } from "../api/client.ts";
import { isOffered } from "../api/offered.ts";
import { keysQuery } from "../api/queries.ts";
import type { Message } from "../api/shapes.ts";
import { Button, IconButton } from "../controls/Button.tsx";
import { Card, Facts } from "../controls/Card.tsx";
import { Confirm } from "../controls/Confirm.tsx";
import { Id } from "../controls/Copy.tsx";
import { TextField } from "../controls/Field.tsx";
import { Drawer } from "../controls/Modal.tsx";
import { toast } from "../controls/toasts.ts";
import { StatusPill } from "../items/StatusPill.tsx";
import { PayloadText } from "../payload/Payload.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Countdown, Moment } from "../time/Moment.tsx";
import { readMessagePayload } from "./mailboxQueries.ts";
import { redriveMessages } from "./Redrive.tsx";

interface MessageDrawerProps {
  id: string | undefined;
  message: Message | undefined;
  mailboxId: string;
  onClose: () => void;
}

/** One message, with its payload. Peeking changes nothing. */
export function MessageDrawer({ id, message, mailboxId, onClose }: MessageDrawerProps) {
  return (
    <Drawer title="Message" open={id !== undefined} onClose={onClose}>
      <div className="flex h-13 shrink-0 items-center border-b px-4">
        <span className="font-medium">Message</span>
        <IconButton name="Close" className="ml-auto" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      <div className="grid min-h-0 flex-1 content-start gap-4 overflow-y-auto p-4">
        {id !== undefined && (
          <>
            {message === undefined ? (
              <p className="text-muted">It is not among the messages that are shown.</p>
            ) : (
              <Message message={message} />
            )}
            {message !== undefined && <Actions message={message} mailboxId={mailboxId} />}
            <MessagePayload id={id} />
          </>
        )}
      </div>
    </Drawer>
  );
}

function Message({ message }: { message: Message }) {
  const keys = useQuery(keysQuery);
  const holder = keys.data?.find(({ id }) => id === message.claimed_by);
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <StatusPill status={message.status} />
        <h2 className="text-page font-semibold break-words">
          {message.event_type ?? "Message without a type"}
        </h2>
      </div>
      <Facts
        facts={[
          ["Id", <Id key="id" id={message.id} />],
          ["Accepted", <Moment key="at" at={message.created_at} />],
          ["Expires", <Moment key="expires" at={message.expires_at} />],
          ["Claims", String(message.claim_count)],
          ...(message.claimed_by === null ? [] : [["Held by", holder?.name ?? message.claimed_by] as const]),
          ...(message.claim_expires_at === null
            ? []
            : [
                ["Lease", <Countdown key="lease" until={message.claim_expires_at} ended="lapsed" />] as const,
              ]),
          ...(message.ordering_key === null ? [] : [["Ordering key", message.ordering_key] as const]),
          ...(message.dead_reason === null ? [] : [["Dead because", message.dead_reason] as const]),
        ]}
      />
    </div>
  );
}

function MessagePayload({ id }: { id: string }) {
  const query = useQuery({ queryKey: ["payload", "message", id], queryFn: () => readMessagePayload(id) });
  return (
    <Card title="Payload">
      <Loaded query={query}>{(text) => <PayloadText text={text} />}</Loaded>
    </Card>
  );
}

function Actions({ message, mailboxId }: { message: Message; mailboxId: string }) {
  const [asks, setAsks] = useState<"release" | "reject">();
  const done = useDone(() => setAsks(undefined));
  const redrive = useMutation({
    mutationFn: () => redriveMessages(mailboxId, [message.id]),
    onSuccess: () => done("Brought back; it can be claimed again."),
  });
  if (message.status === "DEAD")
    return (
      <div className="grid justify-items-start gap-2">
        <Button look="primary" busy={redrive.isPending} onClick={() => redrive.mutate()}>
          Redrive
        </Button>
        {redrive.isError && <ProblemCard error={redrive.error} />}
      </div>
    );
  if (!isOffered(forcePath) || (message.status !== "CLAIMED" && message.status !== "UNREAD")) return null;
  return (
    <div className="flex gap-2">
      {message.status === "CLAIMED" && <Button onClick={() => setAsks("release")}>Force release…</Button>}
      <Button look="danger" onClick={() => setAsks("reject")}>
        Reject…
      </Button>
      {asks !== undefined && (
        <ForceConfirm
          what={asks}
          message={message}
          mailboxId={mailboxId}
          onClose={() => setAsks(undefined)}
          onDone={done}
        />
      )}
    </div>
  );
}

const forcePath = "/api/v1/mailboxes/{id}/messages/{message_id}/force-release";

interface ForceConfirmProps {
  what: "release" | "reject";
  message: Message;
  mailboxId: string;
  onClose: () => void;
  onDone: (text: string) => void;
}

function ForceConfirm({ what, message, mailboxId, onClose, onDone }: ForceConfirmProps) {
  const [reason, setReason] = useState("");
  const force = useMutation({
    mutationFn: () =>
      callJson(
        "POST",
        `api/v1/mailboxes/${mailboxId}/messages/${message.id}/force-${what}`,
        what === "reject" ? { reason: reason || "rejected by hand" } : {},
      ),
    onSuccess: () =>
      onDone(what === "release" ? "Released; it can be claimed again." : "Rejected; it is dead."),
  });
  return (
    <Confirm
      title={what === "release" ? "Take this message from its holder?" : "Make this message dead?"}
      open
      onClose={onClose}
      action={what === "release" ? "Force release" : "Reject"}
      busy={force.isPending}
      onConfirm={() => force.mutate()}
      error={force.isError && <ProblemCard error={force.error} />}
    >
      {what === "release" ? (
        <p>
          It can be claimed again at once. Its holder's claim ends: if it is still working on it, the work may
          be done twice.
        </p>
      ) : (
        <>
          <p>Nobody can claim it any more until it is redriven.</p>
          <TextField
            label="Reason"
            value={reason}
            maxLength={1000}
            onChange={(event) => setReason(event.target.value)}
          />
        </>
      )}
    </Confirm>
  );
}

function useDone(onClose: () => void): (text: string) => void {
  const queries = useQueryClient();
  return (text) => {
    onClose();
    toast({ text });
    void queries.invalidateQueries({ queryKey: ["mailboxes"] });
  };
}
