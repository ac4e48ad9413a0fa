import { callJson } from "../api/client.ts";

/** Many items replayed at a set pace, as one job. */
export interface ReplayJob {
  id: string;
  status: "RUNNING" | "DONE" | "CANCELED";
  filter: Record<string, string | number>;
  rate_per_second: number | null;
  total: number | null;
  replayed: number;
  delivered: number;
  failed: number;
  created_by: string | null;
  created_at: number;
  finished_at: number | null;
}

export interface Matching {
  count: number;
  count_is_exact: boolean;
}

/** How many items a replay of this filter would send. @throws {Problem} */
export async function countMatching(filter: object): Promise<Matching> {
  return callJson("POST", "api/v1/replays", { filter, dry_run: true });
}

export async function startReplay(filter: object): Promise<ReplayJob> {
  return callJson("POST", "api/v1/replays", { filter });
}

export async function listReplays(): Promise<ReplayJob[]> {
  const { replays } = await callJson<{ replays: ReplayJob[] }>("GET", "api/v1/replays");
  return replays;
}

export async function cancelReplay(id: string): Promise<unknown> {
  return callJson("POST", `api/v1/replays/${encodeURIComponent(id)}/cancel`, {});
}
