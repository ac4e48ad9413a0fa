import { isId } from "../../postgres/ids.ts";
import type { MailboxMoment, ReadDeps } from "../message/findMailbox.ts";

/** How many dead messages one call brings back at most. */
export const maxRedriven = 1_000;

/**
 * Brings dead messages back, oldest first, as if they had never been claimed: the named ones, or any.
 * @returns how many came back.
 */
export async function redriveMessages(
  deps: ReadDeps & { onMessagesReady: (mailboxIds: string[]) => void },
  mailbox: MailboxMoment,
  request: { ids: string[] | undefined; limit: number },
): Promise<number> {
  const { rows } = await deps.pool.query<{ redriven: number }>({
    name: "redrive_messages",
    text: "select redrive_messages($1, $2, $3, $4, $5) as redriven",
    values: [
      deps.retentionMs,
      mailbox.bucket,
      mailbox.id,
      request.ids === undefined ? null : request.ids.filter(isId),
      request.limit,
    ],
  });
  const { redriven } = rows[0]!;
  if (redriven > 0) deps.onMessagesReady([mailbox.id]);
  return redriven;
}
