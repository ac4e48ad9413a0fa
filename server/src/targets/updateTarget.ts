import type { Updateable } from "kysely";
import type { TargetKind, TargetRow } from "../postgres/tables.ts";
import { ApiError } from "../http/contract/errors.ts";
import { checkUrl, readAuth } from "./createTarget.ts";
import { handoffTargets } from "./handoffTargets.ts";
import type { TargetChanges } from "./schemas.ts";
import { changeTarget, type StoredTarget } from "./store.ts";
import type { TargetDeps } from "./targetDeps.ts";
import { rescheduleWaiting } from "./waitingItems.ts";

/** What a PATCH can change on each kind; an agent's `url` comes from its card, by refresh. */
const changeable: Record<TargetKind, readonly (keyof TargetChanges)[]> = {
  webhook: [
    "name",
    "description",
    "enabled",
    "url",
    "event_types",
    "max_payload_bytes",
    "max_retries",
    "retry_interval_seconds",
  ],
  mailbox: ["name", "description", "enabled", "max_payload_bytes", "max_claims"],
  a2a: [
    "name",
    "description",
    "enabled",
    "max_payload_bytes",
    "max_retries",
    "retry_interval_seconds",
    "auth",
    "result_target_id",
  ],
};

/**
 * Changes a target. One that is enabled again starts afresh: no failures on its record, and the full schedule for
 * everything that waits, at once.
 * @throws {ApiError} 400 when nothing applies to this kind or the URL is refused, 404 when it is gone.
 */
export async function updateTarget(
  deps: TargetDeps,
  orgId: string,
  present: StoredTarget,
  input: TargetChanges,
): Promise<StoredTarget> {
  const changes = applicable(present.kind, input);
  if (changes.url !== undefined) await checkUrl(deps, changes.url);
  const isEnabledAgain = changes.enabled === true && !present.enabled;
  // Before the target is enabled, so that no attempt is made under the old schedule.
  if (isEnabledAgain) await rescheduleWaiting(deps.queries, present.id, deps.nowMs());
  const target = await store(deps, { orgId, id: present.id }, changes);
  deps.changes.publishTarget(orgId, target.id);
  if (isEnabledAgain) deps.onDue();
  return target;
}

async function store(
  deps: TargetDeps,
  key: { orgId: string; id: string },
  { auth, result_target_id: resultTargetId, ...changes }: TargetChanges,
): Promise<StoredTarget> {
  const row = { ...changes, ...consequences(changes) };
  const nowSeconds = Math.floor(deps.nowMs() / 1000);
  if (auth === undefined && resultTargetId === undefined) {
    return changeTarget(deps.queries, key, row, nowSeconds);
  }
  const agent = { auth: auth && readAuth(auth), resultTargetId };
  return deps.queries.transaction().execute(async (transaction) => {
    const target = await changeTarget(transaction, key, row, nowSeconds);
    await handoffTargets(deps).change(transaction, { ...key, url: target.url! }, agent);
    return target;
  });
}

function applicable(kind: TargetKind, input: TargetChanges): TargetChanges {
  const fields = changeable[kind].filter((field) => input[field] !== undefined);
  if (fields.length === 0) {
    throw new ApiError(400, `nothing to change: a ${kind} target takes ${changeable[kind].join(", ")}`);
  }
  return Object.fromEntries(fields.map((field) => [field, input[field]]));
}

/** The five days after which failing disables a target start again with a new URL, as with enabling. */
function consequences(changes: TargetChanges): Updateable<TargetRow> {
  if (changes.enabled === true) return { disabled_reason: null, failing_since: null };
  return changes.url === undefined ? {} : { failing_since: null };
}
