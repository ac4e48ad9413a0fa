import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import { Confirm } from "../controls/Confirm.tsx";
import { toast } from "../controls/toasts.ts";

interface RedriveProps {
  mailboxId: string;
  dead: number;
  onClose: () => void;
}

/** Brings dead messages back, oldest first. */
export function Redrive({ mailboxId, dead, onClose }: RedriveProps) {
  const queries = useQueryClient();
  const redrive = useMutation({
    mutationFn: () => redriveMessages(mailboxId),
    onSuccess: ({ redriven }) => {
      toast({ text: `${redriven.toLocaleString("en")} brought back; they can be claimed again.` });
      void queries.invalidateQueries({ queryKey: ["mailboxes"] });
      onClose();
    },
  });
  return (
    <Confirm
      title={`Bring ${dead.toLocaleString("en")} dead ${dead === 1 ? "message" : "messages"} back?`}
      onClose={onClose}
      action="Redrive"
      doing={redrive}
      onConfirm={() => redrive.mutate()}
    >
      <p>
        They are UNREAD again, in their old place, as if they had never been claimed. Up to 1,000 at a time,
        oldest first.
      </p>
    </Confirm>
  );
}

/** Dead messages are UNREAD again; all of them, or those with these ids. @throws {Problem} */
export async function redriveMessages(mailboxId: string, ids?: string[]): Promise<{ redriven: number }> {
  return answer(
    client.POST("/api/v1/mailboxes/{mailbox_id}/redrive", {
      params: { path: { mailbox_id: mailboxId } },
      body: (ids === undefined ? {} : { messages: ids }) as never,
    }),
  );
}
