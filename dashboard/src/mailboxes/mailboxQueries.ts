import { queryOptions } from "@tanstack/react-query";
import { answer, client, given, readText } from "../api/client.ts";
import type { Message, ReadMessage } from "../api/shapes.ts";

export function mailboxStatsQuery(id: string) {
  return queryOptions({
    queryKey: ["mailboxes", id, "stats"],
    queryFn: ({ signal }) =>
      answer(
        client.GET("/api/v1/mailboxes/{mailbox_id}/stats", { params: { path: { mailbox_id: id } }, signal }),
      ),
  });
}

export const messagePage = 100;

/** A page of a mailbox's messages, oldest first. @throws {Problem} */
export async function listMessages(
  id: string,
  { status, after, signal }: { status: string | undefined; after: string | undefined; signal: AbortSignal },
): Promise<Message[]> {
  const query = given({ limit: messagePage, status, after });
  const params = { path: { mailbox_id: id }, query };
  return (await answer(client.GET("/api/v1/mailboxes/{mailbox_id}/messages", { params, signal }))).messages;
}

/** A message and the exact text of its payload. Reading it changes nothing. */
export function messageQuery(id: string) {
  return queryOptions({
    queryKey: ["message", id],
    queryFn: async ({ signal }) => {
      const text = await (await readText(`api/v1/mailbox-messages/${id}`, { signal })).text();
      // The payload is the last member of the response, exactly as it was sent.
      const begin = /,"payload":/.exec(text);
      if (begin === null) throw new Error("the message came without its payload");
      const message = JSON.parse(`${text.slice(0, begin.index)}}`) as ReadMessage;
      return { message, payload: text.slice(begin.index + begin[0].length, -1) };
    },
  });
}
