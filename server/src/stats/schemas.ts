import { targetKinds } from "../postgres/kinds.ts";
import { Type } from "typebox";
import { described, Id, Moment, nullable, oneOf, Timestamp } from "../http/contract/schemas.ts";
import { maxPoints, stepsKept, type Step } from "./steps.ts";

const steps = stepsKept.map(({ seconds }) => seconds);

export const StatsQuery = Type.Object({
  target_id: Type.Optional(
    Type.String({ description: "Only this target. Default: all targets of the organization" }),
  ),
  from: Type.Optional(
    described(Moment, "Unix seconds, rounded down to a step. Default: 24 hours before `to`"),
  ),
  to: Type.Optional(described(Moment, "Unix seconds, rounded up to a step. Default: now")),
  step: Type.Optional(
    Type.Integer({
      description: `Length of a step in seconds: ${steps.join(", ")}. Default: depends on the range. A range has at most ${maxPoints} steps. Steps of these lengths are kept for ${stepsKept
        .map(({ keptSeconds }) => describeTime(keptSeconds))
        .join(", ")} respectively`,
    }),
  ),
});

export function isStep(seconds: number): seconds is Step {
  return steps.some((step) => step === seconds);
}

function describeTime(seconds: number): string {
  return seconds < 2 * 86_400 ? `${seconds / 3600} hours` : `${seconds / 86_400} days`;
}

const activity = {
  accepted: Type.Integer({ description: "Accepted items, including replays" }),
  delivered: Type.Integer({ description: "Delivered items; for a mailbox, acknowledged messages" }),
  retried: Type.Integer({ description: "Failed attempts that are followed by a retry" }),
  failed: Type.Integer({ description: "Items whose last attempt failed" }),
  // A list of types instead of a union, because the serializer would try each member of a union for every point.
  latency_ms: Type.Unsafe<{ p50: number; p95: number; p99: number } | null>({
    type: ["object", "null"],
    properties: { p50: { type: "integer" }, p95: { type: "integer" }, p99: { type: "integer" } },
    required: ["p50", "p95", "p99"],
    description:
      "Time from acceptance to the successful response, accurate to about 5 %; null if no item was delivered",
  }),
};

export const Stats = Type.Object(
  {
    from: Timestamp,
    to: Timestamp,
    step: Type.Integer({ description: "Seconds" }),
    points: Type.Array(Type.Object({ at: Timestamp, ...activity }), {
      description: "One point for each step with activity; `at` is the beginning of the step",
    }),
    totals: Type.Object(activity),
  },
  { title: "Stats" },
);

const Circuit = oneOf(
  ["closed", "open", "half_open"],
  "State of the circuit breaker. `open`: the target keeps failing, so a node sends nothing to it for up to 30 s. `half_open`: one request tests the target",
);

const onlySent = "Absent for mailboxes";

/** Maximum number of targets in one health list. */
export const maxListed = 100;

export const HealthsQuery = Type.Object({
  ids: Type.String({
    maxLength: 33 * maxListed,
    description: `Ids of targets, separated by commas: up to ${maxListed}`,
    examples: ["019a4b6c7d8e7f0011223344556677ac,019a4b6c7d8e7f0011223344556677ad"],
  }),
});

/** The fields of health that targets of every kind have. */
export const CommonHealth = Type.Object({
  target_id: Id,
  kind: oneOf(targetKinds),
  enabled: Type.Boolean(),
  disabled_reason: nullable(Type.String()),
  last_attempt_at: nullable(Timestamp),
  last_success_at: nullable(Timestamp),
  failing_since: nullable(Timestamp),
  success_rate_24h: nullable(
    Type.Number({ minimum: 0, maximum: 1 }),
    "Share of the attempts in the last 24 hours that succeeded; null if there was no attempt",
  ),
});

export const TargetHealth = Type.Object(
  {
    ...CommonHealth.properties,
    ...Type.Partial(
      Type.Object({
        circuit: Circuit,
        in_flight: Type.Integer({
          description: `Items that nodes have leased: they are being sent or about to be sent. ${onlySent}`,
        }),
        due: Type.Integer({ description: `Items that are due and not sent yet. ${onlySent}` }),
        due_is_exact: Type.Boolean({
          description:
            "False if `due` is only a lower bound (for a disabled target: `held`, too). Counting stops after 2,500 rows; a row has one item, or up to 64 items that were accepted together",
        }),
        oldest_due_at: nullable(Timestamp),
        oldest_due_seconds: nullable(Type.Integer()),
        held: Type.Integer({ description: "Items that wait until the target is enabled" }),
        ready: Type.Integer({ description: "For mailboxes only: as in the statistics of the mailbox" }),
        claimed: Type.Integer(),
        delayed: Type.Integer(),
        blocked: Type.Integer(),
        dead: Type.Integer(),
        counts_are_exact: Type.Boolean({
          description:
            "For mailboxes only: as in the statistics of the mailbox, but counting stops at 1,000 messages that were claimed or released, and at 2,500 dead messages",
        }),
        oldest_ready_seconds: nullable(Type.Integer()),
        accepted_per_minute: Type.Number(),
        acknowledged_per_minute: Type.Number(),
      }),
    ).properties,
  },
  { title: "TargetHealth" },
);

const count = Type.Integer();

export const ListedHealth = Type.Object(
  {
    ...TargetHealth.properties,
    hours: Type.Array(Type.Object({ at: Timestamp, delivered: count, retried: count, failed: count }), {
      description: "Attempts in each of the last 24 hours; hours without attempts are omitted",
    }),
  },
  { title: "ListedHealth" },
);
