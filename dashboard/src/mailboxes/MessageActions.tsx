import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import type { Message } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { TextField } from "../controls/Field.tsx";
import { Confirm } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { redriveMessages } from "./Redrive.tsx";

interface MessageActionsProps {
  message: Message;
  mailboxId: string;
}

/** The interventions that a message's status allows. */
export function MessageActions({ message, mailboxId }: MessageActionsProps) {
  const [asks, setAsks] = useState<"release" | "reject">();
  const refresh = useRefresh(message.id);
  const redrive = useMutation({
    mutationFn: () => redriveMessages(mailboxId, [message.id]),
    onSuccess: ({ redriven }) =>
      toast({
        text: redriven === 0 ? "The message was not dead any more." : "Redriven; it can be claimed again.",
      }),
    onSettled: refresh,
  });
  const close = (): void => setAsks(undefined);
  if (message.status === "DEAD")
    return (
      <div className="grid justify-items-start gap-2">
        <Button look="primary" busy={redrive.isPending} onClick={() => redrive.mutate()}>
          Redrive
        </Button>
        {redrive.isError && <ProblemCard error={redrive.error} />}
      </div>
    );
  const isClaimed = message.status === "CLAIMED";
  if (!isClaimed && message.status !== "UNREAD" && asks === undefined) return null;
  return (
    <div className="flex gap-2">
      {isClaimed && <Button onClick={() => setAsks("release")}>Force release…</Button>}
      <Button look="danger" onClick={() => setAsks("reject")}>
        Reject…
      </Button>
      {asks === "release" && <ForceRelease message={message} mailboxId={mailboxId} onClose={close} />}
      {asks === "reject" && <ForceReject message={message} mailboxId={mailboxId} onClose={close} />}
    </div>
  );
}

type ForceProps = MessageActionsProps & { onClose: () => void };

function ForceRelease({ message, mailboxId, onClose }: ForceProps) {
  const release = useForce(message.id, {
    force: () =>
      answer(
        client.POST("/api/v1/mailboxes/{mailbox_id}/messages/{message_id}/force-release", {
          params: paramsOf({ message, mailboxId }),
        }),
      ),
    told: ({ status }) =>
      status === "DEAD"
        ? "Released; it has used up its claims, so it is dead."
        : "Released; it can be claimed again.",
  });
  return (
    <Confirm
      title="Release this message from its consumer?"
      onClose={onClose}
      action="Force release"
      doing={release}
    >
      <p>
        It can be claimed again at once. Its holder's claim ends: if it is still working on it, the work may
        be done twice.
      </p>
    </Confirm>
  );
}

function ForceReject({ message, mailboxId, onClose }: ForceProps) {
  const [reason, setReason] = useState("");
  const reject = useForce(message.id, {
    force: () =>
      answer(
        client.POST("/api/v1/mailboxes/{mailbox_id}/messages/{message_id}/force-reject", {
          params: paramsOf({ message, mailboxId }),
          body: { reason: reason.trim() },
        }),
      ),
    told: () => "Rejected; the message is dead.",
  });
  return (
    <Confirm
      title="Reject this message?"
      onClose={onClose}
      action="Reject"
      mayConfirm={reason.trim() !== ""}
      doing={reject}
    >
      <p>It cannot be claimed until it is redriven. The reason and your email address are recorded.</p>
      <TextField
        label="Reason"
        required
        value={reason}
        maxLength={1000}
        onChange={(event) => setReason(event.target.value)}
      />
    </Confirm>
  );
}

/** Runs an action on a message, reports its result, and reads the message again. */
function useForce<T>(id: string, { force, told }: { force: () => Promise<T>; told: (done: T) => string }) {
  return useMutation({
    mutationFn: force,
    onSuccess: (done) => toast({ text: told(done) }),
    onSettled: useRefresh(id),
  });
}

function paramsOf({ message, mailboxId }: MessageActionsProps) {
  return { path: { mailbox_id: mailboxId, message_id: message.id } };
}

function useRefresh(id: string): () => void {
  const queries = useQueryClient();
  return () => {
    void queries.invalidateQueries({ queryKey: ["mailboxes"] });
    void queries.invalidateQueries({ queryKey: ["message", id] });
  };
}
