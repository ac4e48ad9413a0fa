import { fieldsOf } from "../http/contract/schemas.ts";
import { type Static, Type } from "typebox";
import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError, found, idOf } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { customerOf, customerReads, readKeys } from "../http/contract/scope.ts";
import { type MailboxRouteDeps, readDeps } from "../mailbox/routeDeps.ts";
import { findMailbox } from "../mailbox/message/findMailbox.ts";
import { healthBounds, mailboxStats } from "../mailbox/view/mailboxStats.ts";
import { isId } from "../postgres/ids.ts";
import { isPulled, kindNumbers } from "../postgres/kinds.ts";
import { type HealthScope, readHealths, readHours } from "./readHealth.ts";
import { noStats, readStats } from "./readStats.ts";
import {
  CommonHealth,
  HealthsQuery,
  isStep,
  ListedHealth,
  maxListed,
  Stats,
  StatsQuery,
  TargetHealth,
} from "./schemas.ts";
import { rangeOf, stepsKept } from "./steps.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<MailboxRouteDeps>("Statistics");
const targetRoute = routesOf<MailboxRouteDeps>("Targets");

export const statsRoute = route("readStats", "GET /api/v1/stats", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Read statistics of accepted and delivered items",
  description:
    "Steps without activity are omitted. If `target_id` is not a target of the organization, the response has no steps.",
  query: StatsQuery,
  response: { 200: Stats },
  errors: { 429: "The organization has too many of these requests in progress" },
  examples: examples.readStats,
  async handle(call, deps) {
    const { caller, query } = call;
    const { target_id: targetId, from, to, step } = query;
    if (step !== undefined && !isStep(step))
      throw new ApiError(400, `step must be one of ${stepsKept.map(({ seconds }) => seconds).join(", ")}`);
    const range = rangeOf({ from, to, step }, Math.floor(deps.nowMs() / 1000));
    if (targetId !== undefined && !isId(targetId)) return { ...range, ...noStats };
    const scope = { orgId: caller.orgId, targetId };
    return {
      ...range,
      ...(await deps.reads.run("stats", call, () => readStats(deps.pool, scope, range))),
    };
  },
});

const healthsRoute = targetRoute("listTargetHealth", "GET /api/v1/target-health", {
  access: usersAndKeys("viewer", customerReads("own")),
  summary: "List the health of several targets",
  description:
    "Returns the health of the targets in `ids`, sorted by id, and their activity in each of the last 24 hours. Ids that are not targets of the organization are omitted.",
  query: HealthsQuery,
  response: { 200: Type.Object({ targets: Type.Array(ListedHealth) }) },
  errors: { 429: "The organization has too many of these requests in progress" },
  async handle(call, deps) {
    const { caller, query } = call;
    const ids = [...new Set(query.ids.split(","))];
    if (ids.length > maxListed || !ids.every(isId))
      throw new ApiError(400, `ids must be up to ${maxListed} ids of targets, separated by commas`);
    const scope = { orgId: caller.orgId, ids, customerUid: customerOf(caller.scope) };
    return { targets: await deps.reads.run("stats", call, () => listHealths(deps, scope)) };
  },
});

const healthRoute = targetRoute("readTargetHealth", "GET /api/v1/targets/:id/health", {
  access: usersAndKeys("viewer", customerReads("target")),
  summary: "Read the health of a target",
  description:
    "The values cover all nodes. For mailboxes, the response has the fields of the mailbox's statistics instead of the fields about deliveries.",
  response: { 200: TargetHealth },
  examples: examples.readTargetHealth,
  async handle({ caller, params }, deps): Promise<Static<typeof TargetHealth>> {
    const { orgId } = caller;
    const [health] = await readHealths(deps.pool, { orgId, ids: [idOf(params.id)] });
    return found(await withMailbox(deps, orgId, found(health)));
  },
});

async function listHealths(
  deps: MailboxRouteDeps,
  scope: HealthScope,
): Promise<Static<typeof ListedHealth>[]> {
  const healths = await readHealths(deps.pool, scope);
  const ids = healths.map((health) => health.target_id);
  const hours = await readHours(deps.pool, scope.orgId, ids);
  const listed: Static<typeof ListedHealth>[] = [];
  // One at a time, so that a page of mailboxes uses only one connection of the pool.
  for (const health of healths) {
    const shown = await withMailbox(deps, scope.orgId, health);
    if (shown !== undefined) listed.push({ ...shown, hours: hours.get(health.target_id) ?? [] });
  }
  return listed;
}

/** Adds a mailbox's stats to its health; undefined if the mailbox was deleted after its health was read. */
async function withMailbox(
  deps: MailboxRouteDeps,
  orgId: string,
  health: Static<typeof TargetHealth>,
): Promise<Static<typeof TargetHealth> | undefined> {
  if (!isPulled(kindNumbers[health.kind])) return health;
  const mailbox = await findMailbox(readDeps(deps), orgId, health.target_id);
  if (mailbox === undefined) return undefined;
  const { oldest_age_seconds: oldest, ...stats } = await mailboxStats(readDeps(deps), mailbox, healthBounds);
  return { ...fieldsOf(CommonHealth, health), ...stats, oldest_ready_seconds: oldest };
}

/** Routes for the current state of targets. */
export const targetHealthRoutes = [healthRoute, healthsRoute];
