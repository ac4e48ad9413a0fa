import { Type } from "typebox";
import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError, found, idOf, notFound, orRefused } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import { DryRun, NewReplay, rates, ReplayJob, ReplayQuery } from "./schemas.ts";
import { unknownNameIn } from "./replayFilter.ts";
import { type StartDeps, startReplay, tryReplay } from "./startReplay.ts";
import { cancelReplay, listReplays, maxRunning, readReplay } from "./store.ts";
import type { Parts } from "../items/parts.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<ReplayDeps>("Events");

const about = `Runs in the background, on any node; if a node dies, another node continues. Each event that matches the filter \
becomes one new event, as with the replay of a single event: it is not billed, and has \`source_event_id\` and \`replay_id\`. \
Events that are accepted or end after the request are not included. With the status FAILED or DEAD, events that already have a \
replay in progress or a successful replay are left out, unless \`include_replayed\` is true. Events that cannot be replayed are \
counted as skipped. A target with many waiting items gets no more replays until it has caught up, so that new items are not \
delayed. At most ${maxRunning} replays run at a time.`;

type ReplayDeps = StartDeps & Pick<Parts, "pool" | "reads">;

const startRoute = route("startReplay", "POST /api/v1/replays", {
  access: usersAndKeys("member", noLimitedKey),
  audit: { none: "the job itself records who started it and what it did" },
  summary: "Replay all events that match a filter, or count them",
  description: about,
  body: NewReplay,
  response: { 200: DryRun, 202: ReplayJob },
  errors: {
    404: "The target does not exist",
    409: "Too many replays are running",
    429: "The organization has too many of these requests in progress",
  },
  examples: examples.startReplay,
  async handle(call, deps) {
    const { caller, body, reply } = call;
    const { filter, rate_per_second: ratePerSecond = rates.default } = body;
    const unknown = unknownNameIn(filter);
    if (unknown !== undefined) throw new ApiError(400, unknown);
    const wanted = { filter, includeReplayed: body.include_replayed === true };
    const start = { ...wanted, ratePerSecond, isNewWebhookId: body.webhook_id === "new" };
    return deps.reads.run("replay-counts", call, async () => {
      if (body.dry_run === true) return found(await tryReplay(deps, caller.orgId, wanted));
      const { replay } = orRefused(await startReplay(deps, caller, start), "started", startRefusals);
      void reply.code(202);
      return replay;
    });
  },
});

const listRoute = route("listReplays", "GET /api/v1/replays", {
  access: usersAndKeys("viewer", readKeys),
  summary: "List replays of many events, newest first",
  query: ReplayQuery,
  response: { 200: Type.Object({ replays: Type.Array(ReplayJob) }) },
  examples: examples.listReplays,
  async handle({ caller, query }, deps) {
    return { replays: await listReplays(deps.pool, caller.orgId, query) };
  },
});

const readRoute = route("readReplay", "GET /api/v1/replays/:id", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Read a replay of many events and its progress",
  response: { 200: ReplayJob },
  examples: examples.readReplay,
  async handle({ caller, params }, deps) {
    return found(await readReplay(deps.queries, caller.orgId, idOf(params.id)));
  },
});

const cancelRoute = route("cancelReplay", "POST /api/v1/replays/:id/cancel", {
  access: usersAndKeys("member", noLimitedKey),
  audit: { none: "the job itself records its end" },
  summary: "Cancel a replay of many events",
  description:
    "Events that were already replayed are still delivered. The response is the same if the replay was already canceled.",
  response: { 200: ReplayJob },
  errors: { 409: "The replay is already done" },
  examples: examples.cancelReplay,
  async handle({ caller, params }, deps) {
    const replay = found(await cancelReplay(deps.queries, caller.orgId, idOf(params.id)));
    if (replay.status === "DONE") throw new ApiError(409, "the replay is already done", "replay_ended");
    return replay;
  },
});

const startRefusals = {
  unknown_target: notFound,
  too_many_running: () =>
    new ApiError(
      409,
      `${maxRunning} replays are running: wait until one ends, or cancel one`,
      "too_many_replays",
    ),
};

/** `/api/v1/replays`: replays of many events, as jobs. */
export const replayRoutes = [startRoute, listRoute, readRoute, cancelRoute];
