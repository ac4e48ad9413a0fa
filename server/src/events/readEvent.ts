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
import { ApiError, found, payloadErased } from "../http/contract/errors.ts";

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

/**
 * Reads the bytes of an event's item, as they were accepted.
 * @throws {ApiError} 404; 410 when the message has expired in its mailbox, or the payload was erased.
 */
export async function readPayload(
  queries: Queries,
  { orgId, mailboxRetentionMs }: EventScope,
  id: string,
): Promise<Buffer> {
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
  const event = found(rows[0]);
  if (isPulled(event.kind) && idTimeMs(id) < event.now_ms - mailboxRetentionMs) {
    throw new ApiError(410, "the message has expired, and its payload with it", "payload_gone");
  }
  // Not joined: only a statement that names the publication's id is planned for its day alone.
  const { publication_id: publicationId } = event;
  const payload = publicationId === null ? event.payload : await publishedPayload(queries, publicationId);
  // JSON has at least one byte.
  if (payload.length === 0) throw payloadErased();
  return payload;
}

/** @throws {ApiError} 404 when its day was dropped at the end of retention. */
async function publishedPayload(queries: Queries, id: string): Promise<Buffer> {
  const publication = await queries
    .selectFrom("publications")
    .select("payload")
    .where("bucket", "=", bucketOf(id))
    .where("id", "=", id)
    .executeTakeFirst();
  return found(publication).payload;
}
