import type { Static } from "typebox";
import { type KindDeps, kindNamed } from "./kinds.ts";
import type { StoredTarget } from "./record/store.ts";
import type { Target } from "./schemas.ts";

type Answer = Static<typeof Target>;

/** The answer of `/api/v1/targets` for a target, with the parts that only the answer to a change has. */
export async function targetAnswer(
  deps: KindDeps,
  target: StoredTarget,
  besides: { secret?: string | undefined; held_items?: number | undefined } = {},
) {
  const [answer] = await targetAnswers(deps, [target]);
  return { ...answer!, ...besides };
}

/** Like {@link targetAnswer}, for a list. Data outside the targets' rows is read once per kind. */
export async function targetAnswers(deps: KindDeps, targets: readonly StoredTarget[]): Promise<Answer[]> {
  const more = new Map<string, object>();
  for (const kind of new Set(targets.map((target) => target.kind))) {
    const ids = targets.filter((target) => target.kind === kind).map(({ id }) => id);
    for (const [id, view] of (await kindNamed(kind).describe?.(deps, ids)) ?? []) more.set(id, view);
  }
  return targets.map((target) => ({
    ...commonAnswer(target),
    ...kindNamed(target.kind).answer(target),
    ...more.get(target.id),
  }));
}

function commonAnswer(target: StoredTarget): Answer {
  return {
    id: target.id,
    kind: target.kind,
    ...(target.uid !== null && { uid: target.uid }),
    ...(target.customer_uid !== null && { customer_uid: target.customer_uid }),
    ...(target.metadata !== null && { metadata: target.metadata }),
    ...(target.filter !== null && { filter: JSON.parse(target.filter) as Record<string, unknown> }),
    name: target.name,
    description: target.description,
    enabled: target.enabled,
    ...(target.disabled_reason !== null && { disabled_reason: target.disabled_reason }),
    ...(target.failing_since !== null && { failing_since: target.failing_since }),
    ...(target.url !== null && { url: target.url }),
    created_at: target.created_at,
    updated_at: target.updated_at,
  };
}
