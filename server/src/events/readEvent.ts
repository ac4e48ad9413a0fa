import { isHandoff, isPulled } from "../postgres/kinds.ts";
import type { HandoffRow, Queries } from "../postgres/tables.ts";
import { readHandoff } from "../handoff/record/handoffAnswer.ts";
import { inSnapshot } from "./listEvents.ts";
import { latestReplays } from "./replaysOf.ts";
import { type Progress, readProgress } from "./progress.ts";
import { type EventScope, readAttempts, readEvents, type StoredAttempt, type StoredEvent } from "./store.ts";
import { sql } from "kysely";
import { bucketOf, idTimeMs } from "../postgres/ids.ts";
import { databaseNowMs } from "./statuses.ts";

export interface EventStory {
  event: StoredEvent;
  attempts: StoredAttempt[];
  progress: Progress;
  replayedBy: StoredEvent | undefined;
  /** State of the agent's task; undefined unless the target is an agent and a handoff was attempted. */
  handoff: HandoffRow | undefined;
}

/** Reads an event with its attempts in one snapshot; undefined when the organization has no such event. */
export async function readEvent(
  queries: Queries,
  scope: EventScope,
  id: string,
): Promise<EventStory | undefined> {
  return inSnapshot(queries, async (snapshot) => {
    const [event] = await readEvents(snapshot, scope, [id]);
    if (event === undefined) return undefined;
    const progress = await readProgress(snapshot, [event]);
    return {
      event,
      attempts: await readAttempts(snapshot, event),
      progress: progress.get(id)!,
      replayedBy: (await latestReplays(snapshot, scope, [id])).get(id),
      handoff: isHandoff(event.kind) ? await readHandoff(snapshot, scope.orgId, id) : undefined,
    };
  });
}

/** The payload of an event, or why there is none: a message may have expired in its mailbox. */
type PayloadOutcome = { outcome: "read"; payload: Buffer } | { outcome: "not_found" | "expired" | "erased" };

/** Reads the bytes of an event's item, as they were accepted. */
export async function readPayload(
  queries: Queries,
  { orgId, mailboxRetentionMs }: EventScope,
  id: string,
): Promise<PayloadOutcome> {
  const { rows } = await sql<{
    kind: number;
    now_ms: number;
    payload: Buffer;
    publication_id: string | null;
  }>`
    select e.kind, ${databaseNowMs} as now_ms, e.payload, e.publication_id
    from events e
    where e.org_id = ${orgId}
      and e.id = ${id}
  `.execute(queries);
  const event = rows[0];
  if (event === undefined) return { outcome: "not_found" };
  if (isPulled(event.kind) && idTimeMs(id) < event.now_ms - mailboxRetentionMs) {
    return { outcome: "expired" };
  }
  // No join: partition pruning by day needs the publication's id as a parameter.
  const { publication_id: publicationId } = event;
  const payload = publicationId === null ? event.payload : await publishedPayload(queries, publicationId);
  if (payload === undefined) return { outcome: "not_found" };
  // JSON has at least one byte, so that an empty payload means erased.
  return payload.length === 0 ? { outcome: "erased" } : { outcome: "read", payload };
}

/** The payload of a publication; undefined when the partition of its day was dropped at the end of retention. */
async function publishedPayload(queries: Queries, id: string): Promise<Buffer | undefined> {
  const publication = await queries
    .selectFrom("publications")
    .select("payload")
    .where("bucket", "=", bucketOf(id))
    .where("id", "=", id)
    .executeTakeFirst();
  return publication?.payload;
}
