import { Type } from "typebox";
import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError, found, idOf, notFound, orRefused } from "../http/contract/errors.ts";
import type { ReadTurns } from "../http/contract/readTurns.ts";
import { routesOf } from "../http/contract/route.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import { DryRun, NewReplay, rates, ReplayJob, ReplayQuery } from "./schemas.ts";
import { unknownNameIn } from "./replayFilter.ts";
import { type StartDeps, startReplay, tryReplay } from "./startReplay.ts";
import { cancelReplay, listReplays, maxRunning, readReplay } from "./store.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<ReplayDeps>("Events");

const about = `Works in the background, on any node, and goes on where it was when a node dies. Of what fits, every event \
becomes one new event, as a single replay makes it: not billed, with \`source_event_id\`, and with \`replay_id\`. What is \
accepted or ends later is not part of it. Of failures, those are left out that have a replay which is under way or went \
through, unless \`include_replayed\` asks for all. What cannot be replayed is counted as skipped. A target with much waiting gets \
no more until it has caught up, so that new items are not held up. At most ${maxRunning} run at a time.`;

type ReplayDeps = StartDeps & { reads: ReadTurns };

const startRoute = route("startReplay", "POST /api/v1/replays", {
  access: usersAndKeys("member", noLimitedKey),
  audit: { none: "the job keeps who started it and what it did" },
  summary: "Replay all events that fit a filter, or count them",
  description: about,
  body: NewReplay,
  response: { 200: DryRun, 202: ReplayJob },
  errors: {
    404: "There is no such target",
    409: "Too many replays are running",
    429: "The workspace has too many counts of replays under way",
  },
  examples: examples.startReplay,
  async handle(call, deps) {
    const { caller, body, reply } = call;
    const { filter, rate_per_second: ratePerSecond = rates.default } = body;
    const unknown = unknownNameIn(filter);
    if (unknown !== undefined) throw new ApiError(400, unknown);
    const wanted = { filter, includeReplayed: body.include_replayed === true };
    if (body.dry_run === true) {
      return deps.reads.run("replay-counts", call, async () =>
        found(await tryReplay(deps, caller.orgId, wanted)),
      );
    }
    const start = { ...wanted, ratePerSecond, isNewWebhookId: body.webhook_id === "new" };
    const replay = await deps.reads.run("replay-counts", call, async () => {
      const started = await startReplay(deps, caller, start);
      return orRefused(started, "started", startRefusals).replay;
    });
    void reply.code(202);
    return replay;
  },
});

const listRoute = route("listReplays", "GET /api/v1/replays", {
  access: usersAndKeys("viewer", readKeys),
  summary: "List replays of many events, newest first",
  query: ReplayQuery,
  response: { 200: Type.Object({ replays: Type.Array(ReplayJob) }) },
  examples: examples.listReplays,
  async handle({ caller, query }, deps) {
    return { replays: await listReplays(deps.queries, caller.orgId, query) };
  },
});

const readRoute = route("readReplay", "GET /api/v1/replays/:id", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Read how far a replay of many events is",
  response: { 200: ReplayJob },
  examples: examples.readReplay,
  async handle({ caller, params }, deps) {
    return found(await readReplay(deps.queries, caller.orgId, idOf(params.id)));
  },
});

const cancelRoute = route("cancelReplay", "POST /api/v1/replays/:id/cancel", {
  access: usersAndKeys("member", noLimitedKey),
  audit: { none: "the end of a job is on record with the job" },
  summary: "Cancel a replay of many events; what was replayed already is delivered",
  description: "Answers the same when it was canceled before.",
  response: { 200: ReplayJob },
  errors: { 409: "It is done" },
  examples: examples.cancelReplay,
  async handle({ caller, params }, deps) {
    const replay = found(await cancelReplay(deps.queries, caller.orgId, idOf(params.id)));
    if (replay.status === "DONE") throw new ApiError(409, "the replay is done", "replay_ended");
    return replay;
  },
});

const startRefusals = {
  unknown_target: notFound,
  too_many_running: () =>
    new ApiError(
      409,
      `${maxRunning} replays are running: wait for one to end, or cancel one`,
      "too_many_replays",
    ),
};

/** `/api/v1/replays`: replays of many events, as jobs. */
export const replayRoutes = [startRoute, listRoute, readRoute, cancelRoute];
