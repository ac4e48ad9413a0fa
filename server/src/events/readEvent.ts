import { isHandoff } from "../postgres/kinds.ts";
import type { HandoffRow, Queries } from "../postgres/tables.ts";
import { readHandoff } from "../handoff/record/handoffAnswer.ts";
import { inSnapshot } from "./listEvents.ts";
import { latestReplays } from "./replaysOf.ts";
import { type Progress, readProgress } from "./progress.ts";
import { type EventScope, readAttempts, readEvents, type StoredAttempt, type StoredEvent } from "./store.ts";

export interface EventStory {
  event: StoredEvent;
  attempts: StoredAttempt[];
  progress: Progress;
  /** Its latest replay. */
  replayedBy: StoredEvent | undefined;
  /** What became of the work; undefined unless its target is an agent that was tried. */
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
