import { sql } from "kysely";
import { bucketOf, newId } from "../db/ids.ts";
import type { Queries } from "../db/tables.ts";
import { ApiError, notFound } from "../http/errors.ts";

interface ReplayDeps {
  queries: Queries;
  /** Unix milliseconds. */
  nowMs: () => number;
  onDue: () => void;
}

/**
 * Delivers an event's payload once more, as a new event that costs nothing and points to this one; this one and
 * its attempts stay as they are. Two calls make two events.
 * @returns the new event's id.
 * @throws {ApiError} 404 when the organization has no such event, 409 when its target is gone or disabled.
 */
export async function replayEvent(deps: ReplayDeps, orgId: string, sourceId: string): Promise<string> {
  const id = newId(bucketOf(sourceId), deps.nowMs());
  const { rows } = await sql<{ code: "a" | "n" | "g" | "d" }>`
    select replay_event(${orgId}, ${sourceId}, ${id}) as code
  `.execute(deps.queries);
  switch (rows[0]!.code) {
    case "a":
      deps.onDue();
      return id;
    case "n":
      throw notFound();
    case "g":
      throw new ApiError(409, "the target of this event was deleted");
    case "d":
      throw new ApiError(409, "the target is disabled: enable it before you replay");
  }
}
