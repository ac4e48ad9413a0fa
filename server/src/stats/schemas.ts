import { targetKinds } from "../postgres/kinds.ts";
import { Type } from "typebox";
import {
  described,
  Id,
  Moment,
  nullable,
  NullableTimestamp,
  oneOf,
  Timestamp,
} from "../http/contract/schemas.ts";
import { maxPoints, stepsKept, type Step } from "./steps.ts";

const steps = stepsKept.map(({ seconds }) => seconds);

export const StatsQuery = Type.Object({
  target_id: Type.Optional(
    Type.String({ description: "Only this target; without it, all of the workspace" }),
  ),
  from: Type.Optional(described(Moment, "Unix seconds, rounded down to a step; 24 hours before `to`")),
  to: Type.Optional(described(Moment, "Unix seconds, rounded up to a step; now")),
  step: Type.Optional(
    Type.Integer({
      description: `Seconds: ${steps.join(", ")}; by the range unless given. At most ${maxPoints} steps, kept for ${stepsKept
        .map(({ keptSeconds }) => describeTime(keptSeconds))
        .join(", ")}`,
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
  accepted: Type.Integer({ description: "Items accepted, replays among them" }),
  delivered: Type.Integer({ description: "Items delivered; of a mailbox, messages acknowledged" }),
  retried: Type.Integer({ description: "Attempts that failed and are followed by another" }),
  failed: Type.Integer({ description: "Items whose last attempt failed" }),
  // A list of types instead of a union, because the serializer would try each member of a union for every point.
  latency_ms: Type.Unsafe<{ p50: number; p95: number; p99: number } | null>({
    type: ["object", "null"],
    properties: { p50: { type: "integer" }, p95: { type: "integer" }, p99: { type: "integer" } },
    required: ["p50", "p95", "p99"],
    description:
      "From acceptance to the answer that made an item delivered, within some 5 %; null when none was delivered",
  }),
};

export const Stats = Type.Object(
  {
    from: Timestamp,
    to: Timestamp,
    step: Type.Integer({ description: "Seconds" }),
    points: Type.Array(Type.Object({ at: Timestamp, ...activity }), {
      description: "One for each step in which something happened, named by its beginning",
    }),
    totals: Type.Object(activity),
  },
  { title: "Stats" },
);

const Circuit = oneOf(
  ["closed", "open", "half_open"],
  "State of the circuit breaker. open: after repeated failures a node sends nothing for up to 30 s; half_open: one request probes the target",
);

const onlySent = "Absent on mailboxes";

/** Maximum number of targets in one health list. */
export const maxListed = 100;

export const HealthsQuery = Type.Object({
  ids: Type.String({
    maxLength: 33 * maxListed,
    description: `Up to ${maxListed} ids of targets, separated by commas`,
    examples: ["019a4b6c7d8e7f0011223344556677ac,019a4b6c7d8e7f0011223344556677ad"],
  }),
});

/** The fields of health that targets of every kind have. */
export const CommonHealth = Type.Object({
  target_id: Id,
  kind: oneOf(targetKinds),
  enabled: Type.Boolean(),
  disabled_reason: nullable(Type.String()),
  last_attempt_at: NullableTimestamp,
  last_success_at: NullableTimestamp,
  failing_since: NullableTimestamp,
  success_rate_24h: nullable(
    Type.Number({ minimum: 0, maximum: 1 }),
    "Share of successful attempts in the last 24 hours; null when there was no attempt",
  ),
});

export const TargetHealth = Type.Object(
  {
    ...CommonHealth.properties,
    ...Type.Partial(
      Type.Object({
        circuit: Circuit,
        in_flight: Type.Integer({ description: `Items that nodes have leased. ${onlySent}` }),
        due: Type.Integer({ description: `Items that are due and not sent yet. ${onlySent}` }),
        due_is_exact: Type.Boolean({
          description:
            "False when more items wait than were counted. At least 2,500 are counted, and up to 64 times as many if they were accepted together. Also applies to the held items of a disabled target",
        }),
        oldest_due_at: NullableTimestamp,
        oldest_due_seconds: nullable(Type.Integer()),
        held: Type.Integer({ description: "Items that wait until the target is enabled" }),
        ready: Type.Integer({ description: "For mailboxes, as in their stats" }),
        claimed: Type.Integer(),
        delayed: Type.Integer(),
        blocked: Type.Integer(),
        dead: Type.Integer(),
        counts_are_exact: Type.Boolean({
          description:
            "For mailboxes, as in their stats, but counted over at most 1,000 messages that were claimed or released, and 2,500 dead ones",
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
      description: "Attempts in each of the last 24 hours; hours without attempts are left out",
    }),
  },
  { title: "ListedHealth" },
);
