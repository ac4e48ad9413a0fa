import { type Static, Type } from "typebox";
import type { Config } from "../config/config.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { ApiError, found, idOf } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import { fieldsOf, pageBefore } from "../http/contract/schemas.ts";
import { textOf } from "../http/contract/textForms.ts";
import { newRootId } from "../postgres/ids.ts";
import { eraseOne } from "./eraseEvent.ts";
import {
  Erasure,
  findErasure,
  insertErasure,
  listErasures,
  maxRunning,
  readErasure,
  type StoredErasure,
  type Subject,
} from "./store.ts";
import examples from "./examples.json" with { type: "json" };
import type { Parts } from "../items/parts.ts";

const route = routesOf<ErasureRouteDeps>("Erasure");

export interface ErasureRouteDeps extends Pick<Parts, "pool" | "nowMs" | "onMailboxItems"> {
  config: Pick<Config, "mailboxRetentionMs">;
}

/** Reason why erasures are not in the audit log. */
const erasureAudit = { none: "the erasure itself records who requested it and what it erased" };

const eraseEventRoute = route("eraseEvent", "POST /api/v1/events/:id/erase", {
  access: usersAndKeys("admin", noLimitedKey),
  audit: erasureAudit,
  summary: "Erase the payload and the recorded responses of an event",
  description:
    "Erases the event, its replays, and the event that reported the result of its handoff. The data is gone when the response is sent. Ids, type, status and timestamps stay. An event that has not ended becomes CANCELED first, even while it is being sent. A repeated request gets the same response.",
  response: { 200: Erasure },
  examples: examples.eraseEvent,
  handle: async ({ caller, params }, deps) => erasureAnswer(await eraseNow(deps, caller, params.id)),
});

const createRoute = route("createErasure", "POST /api/v1/erasures", {
  access: usersAndKeys("admin", noLimitedKey),
  audit: erasureAudit,
  summary: "Erase the payloads and the recorded responses of all events with a correlation id",
  description:
    "Erases the events that were accepted before the request. The erasure runs in the background, continues after a restart, and reports its progress.",
  body: Type.Object({ correlation_id: textOf("correlationId") }),
  response: { 202: Erasure },
  errors: { 409: "The organization has too many erasures in progress" },
  examples: examples.createErasure,
  async handle({ caller, body, reply }, deps) {
    void reply.code(202);
    return erasureAnswer(await request(deps, caller, { correlationId: body.correlation_id }));
  },
});

const listRoute = route("listErasures", "GET /api/v1/erasures", {
  access: usersAndKeys("viewer", readKeys),
  summary: "List erasures, newest first",
  query: pageBefore("erasures"),
  response: { 200: Type.Object({ erasures: Type.Array(Erasure) }) },
  handle: async ({ caller, query }, deps) => ({
    erasures: (await listErasures(deps.pool, caller.orgId, query)).map(erasureAnswer),
  }),
});

const readRoute = route("readErasure", "GET /api/v1/erasures/:id", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Read an erasure and its progress",
  response: { 200: Erasure },
  handle: async ({ caller, params }, deps) => erasureAnswer(await present(deps, caller.orgId, params.id)),
});

async function eraseNow(deps: ErasureRouteDeps, caller: Caller, eventId: string): Promise<StoredErasure> {
  const { erasureId } = found(await findErasure(deps.pool, caller.orgId, idOf(eventId)));
  const erasure =
    erasureId === null
      ? await request(deps, caller, { eventId })
      : await present(deps, caller.orgId, erasureId);
  if (erasure.event_id === null || erasure.status === "DONE") return erasure;
  const outcome = await eraseOne({ ...deps, mailboxRetentionMs: deps.config.mailboxRetentionMs }, erasure);
  if (outcome === "busy") {
    throw new ApiError(
      503,
      "the event changes too often to be erased now: the erasure continues in the background",
      {
        retryAfterSeconds: 1,
      },
    );
  }
  return present(deps, caller.orgId, erasure.id);
}

async function request(deps: ErasureRouteDeps, caller: Caller, subject: Subject): Promise<StoredErasure> {
  const erasure = await insertErasure(deps.pool, { id: newRootId(deps.nowMs()), caller, subject });
  if (erasure === undefined) {
    throw new ApiError(
      409,
      `an organization has at most ${maxRunning} erasures in progress: wait until one ends`,
    );
  }
  return erasure;
}

async function present(deps: ErasureRouteDeps, orgId: string, id: string): Promise<StoredErasure> {
  return found(await readErasure(deps.pool, orgId, idOf(id)));
}

function erasureAnswer(erasure: StoredErasure): Static<typeof Erasure> {
  return {
    ...fieldsOf(Erasure, erasure),
    created_at: Math.floor(erasure.created_at / 1000),
    finished_at: erasure.finished_at === null ? null : Math.floor(erasure.finished_at / 1000),
  };
}

/** Erasure of payloads and answers. */
export const erasureRoutes = [eraseEventRoute, createRoute, listRoute, readRoute];
