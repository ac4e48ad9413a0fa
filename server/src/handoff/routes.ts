import { Type } from "typebox";
import { anyone, usersAndKeys } from "../http/contract/access.ts";
import { ApiError, notFound, orRefused } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { noLimitedKey } from "../http/contract/scope.ts";
import { readItem } from "../intake/readItem.ts";
import { Handoff } from "./record/handoffAnswer.ts";
import type { SteerRefusal } from "./follow/steerTask.ts";
import type { Handoffs } from "./handoffs.ts";

const route = routesOf<HandoffRouteDeps>("Events");
const notificationRoute = routesOf<HandoffRouteDeps>("Operation");

export interface HandoffRouteDeps {
  handoffs: Handoffs;
}

const errors = {
  409: "There is no task that could be steered: not handed over, ended, or not waiting for input",
  502: "The agent did not answer or did not do it",
};

const answerRoute = route("answerAgent", "POST /api/v1/events/:id/handoff/message", {
  access: usersAndKeys("member", noLimitedKey),
  audit: { none: "the handoff keeps what was said to the agent" },
  summary: "Answer an agent whose task waits for input",
  description:
    "The body is made a message as an item's is, and sent to the task. Not billed. With an Idempotency-Key a repeated request is sent once, as far as the agent keeps its task's history.",
  headers: Type.Object({
    "idempotency-key": Type.Optional(Type.String({ description: "1 to 255 characters" })),
  }),
  response: { 200: Type.Object({ handoff: Handoff }) },
  errors,
  rawBody: "json",
  async handle({ caller, params, request, reply }, deps) {
    const payload = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
    const { idempotencyKey: key } = readItem(request.headers, payload);
    const input = { orgId: caller.orgId, eventId: params.id, payload, key };
    const { isReplayed, handoff } = orRefused(await deps.handoffs.answer(input), "answered", refusals);
    if (isReplayed) void reply.header("idempotency-replayed", "true");
    return { handoff };
  },
});

const cancelRoute = route("cancelTask", "POST /api/v1/events/:id/handoff/cancel", {
  access: usersAndKeys("member", noLimitedKey),
  audit: { none: "the handoff keeps what was said to the agent" },
  summary: "Ask an agent to cancel a task",
  description: "The answer shows what became of it; an agent may take its time.",
  response: { 200: Type.Object({ handoff: Handoff }) },
  errors,
  async handle({ caller, params }, deps) {
    const asked = await deps.handoffs.cancel({ orgId: caller.orgId, eventId: params.id });
    return { handoff: orRefused(asked, "asked", refusals).handoff };
  },
});

type Refused<Kind> = Extract<SteerRefusal, { kind: Kind }>;

const refusals = {
  unknown: notFound,
  not_for_an_agent: () => new ApiError(409, "only items of a2a targets are handed to an agent"),
  not_handed_over: () => new ApiError(409, "the item has not been handed over yet"),
  ended: ({ outcome }: Refused<"ended">) =>
    new ApiError(
      409,
      outcome === "UNKNOWN"
        ? "the task is no longer followed: its outcome is UNKNOWN"
        : `the task has ended: ${outcome}`,
    ),
  target_deleted: () => new ApiError(409, "the target of this event was deleted"),
  not_waiting: ({ state }: Refused<"not_waiting">) =>
    new ApiError(409, `the task does not wait for input: it is ${state}`),
  not_cancelable: ({ message }: Refused<"not_cancelable">) =>
    new ApiError(409, `the task cannot be canceled: ${message}`),
  agent_failed: ({ message }: Refused<"agent_failed">) => new ApiError(502, message),
};

/** The address where agents report changes of a task. */
export const agentNotificationRoute = notificationRoute(
  "receiveAgentNotification",
  "POST /a2a/notifications/:token",
  {
    access: anyone,
    audit: { none: "a hint of an agent that its task has changed" },
    summary: "Where agents tell that a task has changed",
    description:
      "The address holds a secret that the agent was given. What the agent sends is not read: the service looks at the task itself.",
    response: { 200: Type.Object({ ok: Type.Literal(true) }) },
    rawBody: "any",
    async handle({ params }, deps) {
      if (!(await deps.handoffs.notified(params.token))) throw notFound();
      return { ok: true };
    },
  },
);

/** Routes to answer or cancel a running task. */
export const handoffRoutes = [answerRoute, cancelRoute];
