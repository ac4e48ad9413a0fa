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
  409: "The event has no task, or its task has ended or does not wait for input",
  502: "The agent did not answer, or refused the request",
};

const answerRoute = route("answerAgent", "POST /api/v1/events/:id/handoff/message", {
  access: usersAndKeys("member", noLimitedKey),
  audit: { none: "the handoff itself records the task's state" },
  summary: "Answer an agent's task that waits for input",
  description:
    "The body becomes a message to the task, in the same way as an item's body. Not billed. A repeated request with the same Idempotency-Key is sent to the agent once, if the agent keeps the history of its task.",
  headers: Type.Object({
    "idempotency-key": Type.Optional(Type.String({ description: "1 to 255 characters" })),
  }),
  response: { 200: Type.Object({ handoff: Handoff }) },
  errors,
  examples: { request: { "The answer to the agent's question": { text: "The blue one." } } },
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
  audit: { none: "the handoff itself records the task's state" },
  summary: "Ask an agent to cancel a task",
  description: "The answer shows the task's state afterwards; an agent may need some time to cancel it.",
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
  not_for_an_agent: () => new ApiError(409, "only items of a2a targets have a task"),
  not_handed_over: () => new ApiError(409, "the agent has not accepted the item yet", "task_not_begun"),
  ended: ({ outcome }: Refused<"ended">) =>
    new ApiError(
      409,
      outcome === "UNKNOWN"
        ? "the task is no longer followed: its outcome is UNKNOWN"
        : `the task has ended: ${outcome}`,
      "task_ended",
    ),
  target_deleted: () => new ApiError(409, "the target of this event was deleted", "target_deleted"),
  not_waiting: ({ state }: Refused<"not_waiting">) =>
    new ApiError(409, `the task does not wait for input: it is ${state}`, "task_not_waiting"),
  being_answered: () => new ApiError(409, "another answer to the task is being sent", "task_being_answered"),
  not_cancelable: ({ message }: Refused<"not_cancelable">) =>
    new ApiError(409, `the task cannot be canceled: ${message}`, "task_not_cancelable"),
  agent_failed: ({ message }: Refused<"agent_failed">) => new ApiError(502, message),
};

/** The address where agents report changes of a task. */
export const agentNotificationRoute = notificationRoute(
  "receiveAgentNotification",
  "POST /a2a/notifications/:token",
  {
    access: anyone,
    audit: { none: "the notice changes nothing; the task is read from the agent" },
    summary: "Receive an agent's notice that a task has changed",
    description:
      "The URL contains a secret that the agent was given. The body is ignored: the service reads the task from the agent.",
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
