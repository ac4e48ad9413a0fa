import { queryOptions } from "@tanstack/react-query";
import { answer, client, given } from "../api/client.ts";
import type { Publication, PublicationReplay, PublicationSummary } from "../api/shapes.ts";

export const publicationPage = 50;

/** A page of publications, newest first; `before` is the last id of the previous page. @throws {Problem} */
export async function listPublications(
  customer: string | undefined,
  { before, signal }: { before: string | undefined; signal: AbortSignal },
): Promise<PublicationSummary[]> {
  const query = given({ limit: publicationPage, customer_uid: customer, before });
  return (await answer(client.GET("/api/v1/publications", { params: { query }, signal }))).publications;
}

export function publicationQuery(id: string) {
  return queryOptions({
    queryKey: ["publications", "one", id],
    queryFn: async ({ signal }): Promise<Publication> =>
      (await answer(client.GET("/api/v1/publications/{id}", { params: { path: { id } }, signal })))
        .publication,
  });
}

/** The targets that a publication is replayed to. */
export type ReplayedTo = "failed" | "added";

/** @throws {Problem} 410 when the publication's payload was erased. */
export async function replayPublication(
  id: string,
  to: ReplayedTo,
  isNewWebhookId: boolean,
): Promise<PublicationReplay> {
  const params = { path: { id } };
  // Only items for failed targets have a source event, whose webhook-id they keep unless a new one is requested.
  const body = { to, ...(isNewWebhookId && { webhook_id: "new" as const }) };
  return answer(client.POST("/api/v1/publications/{id}/replay", { params, body }));
}
