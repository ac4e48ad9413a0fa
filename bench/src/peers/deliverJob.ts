import { postSigned } from "../barePoster.ts";

/** Posts a job's payload, signed; `status` is 0 without an answer. */
export type DeliverJob = (id: string, payload: unknown) => Promise<{ status: number; durationMs: number }>;

/** Delivers like Postrider: with its outbound client and a signature of Standard Webhooks. */
export function deliverTo(url: string): DeliverJob {
  return async (id, payload) => {
    const result = await postSigned(url, { id, body: Buffer.from(JSON.stringify(payload)) });
    return { status: result.kind === "response" ? result.status : 0, durationMs: result.durationMs };
  };
}
