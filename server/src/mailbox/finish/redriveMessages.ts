import { idArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";
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
  const rows = await callFunction(deps.pool, "redrive_messages", {
    p_retention_ms: deps.retentionMs,
    p_bucket: mailbox.bucket,
    p_mailbox: mailbox.id,
    p_ids: idArray(request.ids?.filter(isId)),
    p_limit: request.limit,
  });
  const redriven = rows[0]!.redrive_messages!;
  if (redriven > 0) deps.onMessagesReady([mailbox.id]);
  return redriven;
}
