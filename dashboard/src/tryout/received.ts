import { queryOptions } from "@tanstack/react-query";
import { callJson } from "../api/client.ts";

/** One request that a tryout target received, as a receiver would have had it. */
export interface ReceivedRequest {
  id: string;
  received_at: number;
  event_id: string;
  /** In the order in which they were sent. */
  headers: readonly (readonly [name: string, value: string])[];
  body: string;
  body_truncated: boolean;
  signature_verified: boolean;
}

/** What a tryout target received last, newest first. */
export function receivedQuery(targetId: string) {
  return queryOptions({
    queryKey: ["tryout", targetId],
    queryFn: async () =>
      (await callJson<{ requests: ReceivedRequest[] }>("GET", `api/v1/targets/${targetId}/tryout`)).requests,
  });
}
