import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import { Confirm } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";

interface RedriveProps {
  mailboxId: string;
  dead: number;
  /** Whether there may be more than `dead`. */
  isAtLeast: boolean;
  onClose: () => void;
}

/** Largest number of messages that one call redrives. */
const mostAtATime = 1_000;

/** Redrives dead messages, oldest first. */
export function Redrive({ mailboxId, dead, isAtLeast, onClose }: RedriveProps) {
  const queries = useQueryClient();
  const redrive = useMutation({
    mutationFn: () => redriveMessages(mailboxId),
    onSuccess: ({ redriven }) => {
      toast({ text: `${redriven.toLocaleString("en")} redriven; they can be claimed again.` });
      void queries.invalidateQueries({ queryKey: ["mailboxes"] });
    },
  });
  return (
    <Confirm title={titleOf(dead, isAtLeast)} onClose={onClose} action="Redrive" doing={redrive}>
      <p>
        They become UNREAD again, at their old position, as if they had never been claimed.
        {dead > mostAtATime && ` The oldest come first, ${number(mostAtATime)} at a time.`}
      </p>
    </Confirm>
  );
}

function titleOf(dead: number, isAtLeast: boolean): string {
  if (dead > mostAtATime) {
    return `Redrive ${number(mostAtATime)} of ${number(dead)}${isAtLeast ? " or more" : ""} dead messages?`;
  }
  return `Bring ${number(dead)} dead ${dead === 1 ? "message" : "messages"} back?`;
}

function number(value: number): string {
  return value.toLocaleString("en");
}

/** Makes dead messages UNREAD again: the oldest `mostAtATime`, or the messages with these ids. @throws {Problem} */
export async function redriveMessages(mailboxId: string, ids?: string[]): Promise<{ redriven: number }> {
  return answer(
    client.POST("/api/v1/mailboxes/{mailbox_id}/redrive", {
      params: { path: { mailbox_id: mailboxId } },
      body: (ids === undefined ? {} : { messages: ids }) as never,
    }),
  );
}
