import { badAcceptances } from "./badAcceptances.ts";
import type { Mutant } from "./mutant.ts";

export const mutants: readonly Mutant[] = [
  ...badAcceptances,
  {
    name: "records an attempt without checking the lease token",
    edits: [
      {
        file: "postgres/sql/delivery/finish_deliveries.sql",
        find: "and w.lease_token = p_row_tokens[r]",
        replace: "",
      },
    ],
    promise: 1,
    test: "dead-node-is-taken-over",
    check: "frozen",
    violation: /not within \d+ ms, last seen: false/,
  },
  {
    name: "never sweeps lapsed leases",
    edits: [
      {
        file: "postgres/sql/delivery/sweep_deliveries.sql",
        find: "where d.lease_until < v_now_ms",
        replace: "where false",
      },
    ],
    promise: 8,
    test: "dead-node-is-taken-over",
    check: "killed",
    violation: /not within 60000 ms, last seen: .*"leased":[1-9]/,
  },
  {
    name: "uses a cached target without checking its version",
    edits: [
      {
        file: "delivery/dispatch/lane.ts",
        find: "this.#config.version >= version &&",
        replace: "",
      },
    ],
    promise: 6,
    test: "revocation-is-immediate",
    check: "rotated secret",
    violation: /AssertionError: expected \[ true, false \] to deeply equal \[ true, true \]/,
  },
  {
    name: "treats untried targets as prompt, without the budget for unproven targets",
    edits: [
      {
        file: "delivery/dispatch/reputation.ts",
        find: 'known.get(targetId) ?? "untried"',
        replace: 'known.get(targetId) ?? "prompt"',
      },
    ],
    promise: 7,
    test: "hanging-targets-run-on-a-budget",
    check: "of another organization arrive",
    violation: /to be less than or equal to \d+|of 20 requests arrived/,
  },
  {
    name: "stops without releasing its leases",
    edits: [
      {
        file: "delivery/dispatch/dispatcher.ts",
        find: "for (const lane of this.#lanes.all()) this.#releases.add(lane.takeAll());",
        replace: "",
      },
    ],
    promise: 1,
    test: "graceful-stop-loses-nothing",
    check: "with a backlog",
    violation: /not within \d+ ms, last seen: false/,
  },
  {
    name: "schedules no retry for items that shared a row",
    edits: [
      {
        file: "postgres/sql/delivery/finish_deliveries.sql",
        find: "where p_outcomes[m.n] = 2\n",
        replace: "where false\n",
      },
    ],
    promise: 8,
    test: "backlog-drains-after-faults",
    check: "was down",
    violation: /expected '(QUEUED|RETRYING)' to be 'DELIVERED'/,
  },
  {
    name: "records no attempts of items that shared a row",
    edits: [
      {
        file: "postgres/sql/delivery/finish_deliveries.sql",
        find: "where h.is_group;\n    insert into target_activity",
        replace: "where false;\n    insert into target_activity",
      },
    ],
    promise: 1,
    test: "backlog-drains-after-faults",
    check: "loses answers",
    violation: /AssertionError: expected \{ delivered: /,
  },
  {
    name: "retries without the scheduled wait",
    edits: [
      {
        file: "postgres/sql/delivery/finish_deliveries.sql",
        find: "v_now_ms + p_delays_ms[h.last]",
        replace: "v_now_ms",
      },
    ],
    promise: null,
    test: "retries-follow-the-schedule",
    check: "after the interval",
    violation: /AssertionError: expected -?\d+ to be greater than or equal to 47000/,
  },
  {
    name: "claims deliveries with a lease of a day",
    edits: [
      {
        file: "postgres/sql/delivery/claim_deliveries.sql",
        find: "set lease_until = v_now_ms + p_lease_ms,\n        lease_token = p_lease_token\n      from taken t",
        replace:
          "set lease_until = v_now_ms + 86400000,\n        lease_token = p_lease_token\n      from taken t",
      },
    ],
    promise: 8,
    test: "backlog-drains-after-faults",
    check: "loses answers",
    violation: /not within \d+ ms, last seen: false/,
  },
  {
    name: "ignores the limit of requests in flight to a target",
    edits: [
      {
        file: "delivery/dispatch/window.ts",
        find: "inFlight >= this.#size || ",
        replace: "",
      },
    ],
    promise: 13,
    test: "backlog-is-sent-once-within-the-limit",
    check: "each item of a backlog is sent once",
    violation: /AssertionError: expected \d+ to be 24/,
  },
  {
    name: "never takes over a replay job whose lease has lapsed",
    edits: [
      {
        file: "replays/store.ts",
        find: "and (r.lease_until is null or r.lease_until < (select ms from clock))",
        replace: "and r.lease_until is null",
      },
    ],
    promise: 12,
    test: "replays-survive-kills",
    check: "a replay of many makes one",
    violation: /never at work/,
  },
  {
    name: "advances a replay's cursor before it has created the events",
    edits: [
      {
        file: "replays/replayBatch.ts",
        find: 'const advance = functionQuery("advance_replay", {',
        replace: `await sql\`update replay_parts set cursor_id = \${page.cursor}
    where replay_id = \${job.id} and target_id = \${job.targetId}\`.execute(deps.queries);
  const advance = functionQuery("advance_replay", {`,
      },
      { file: "replays/replayBatch.ts", find: "p_from: job.cursor,", replace: "p_from: page.cursor," },
    ],
    promise: 12,
    test: "replays-survive-kills",
    check: "a replay of many makes one",
    violation: /sources with a copy: expected \[ /,
  },
  {
    name: "acknowledges a message without checking the claim token",
    edits: [
      {
        file: "postgres/sql/mailbox/close_messages.sql",
        find: "and (i.claim_token is null or m.claim_token = i.claim_token)\n",
        replace: "",
      },
      {
        file: "postgres/sql/mailbox/close_messages.sql",
        find: "and (p_claim_tokens[1] is null or m.claim_token = p_claim_tokens[1])\n",
        replace: "",
      },
    ],
    promise: 4,
    test: "mailbox-history",
    check: "no overlapping claims",
    violation: /ack of \S+ succeeded /,
  },
  {
    name: "measures the leases of messages by the process's clock",
    edits: [
      {
        file: "process/assembleCell.ts",
        find: "createMailboxes({",
        replace: "createMailboxes({ nowMs,",
      },
      {
        file: "mailbox/claim/claimMessages.ts",
        find: "export interface ClaimDeps {",
        replace: "export interface ClaimDeps {\n  nowMs: () => number;",
      },
      {
        file: "mailbox/claim/claimMessages.ts",
        find: "requests.map((request) => request.leaseMs)",
        replace: "requests.map((request) => request.leaseMs + Math.round(deps.nowMs() - Date.now()))",
      },
    ],
    promise: 4,
    test: "mailbox-history",
    check: "no overlapping claims",
    violation: /two claims of one message were active at once/,
  },
  {
    name: "delivers the held items of a disabled target",
    edits: [
      {
        file: "postgres/sql/delivery/claim_deliveries.sql",
        find: "        and coalesce(t.enabled, true)\n",
        replace: "",
      },
      {
        file: "delivery/dispatch/dispatcher.ts",
        find: "if (!target.enabled) {",
        replace: "if (performance.now() < 0) {",
      },
      {
        file: "delivery/dispatch/dispatcher.ts",
        find: "if (config === undefined || !config.enabled) this",
        replace: "if (config === undefined) this",
      },
    ],
    promise: null,
    test: "disabled-targets-hold-what-comes",
    check: "holds a replay too",
    violation: /expected 'DELIVERED' to be 'QUEUED'/,
  },
  {
    name: "lets each node use the whole rate of a target",
    edits: [
      {
        file: "postgres/sql/delivery/take_permits.sql",
        find: "values (v_bucket, v_target.id, 0)",
        replace: "values (v_bucket, p_node, 0)",
      },
      {
        file: "postgres/sql/delivery/take_permits.sql",
        find: "and p.target_id = v_target.id\n    for update;",
        replace: "and p.target_id = p_node\n    for update;",
      },
      {
        file: "postgres/sql/delivery/take_permits.sql",
        find: "and p.target_id = v_target.id;\n      end if;\n    end if;\n    return next;",
        replace: "and p.target_id = p_node;\n      end if;\n    end if;\n    return next;",
      },
    ],
    promise: 13,
    test: "limits-hold-across-nodes",
    check: "no more than its rate",
    violation: /arrivals before the rate allows them: expected \[ /,
  },
  {
    name: "lets each node use the whole concurrency of a target",
    edits: [
      {
        file: "postgres/sql/delivery/take_permits.sql",
        find: "v_target.max_concurrency - v_others",
        replace: "v_target.max_concurrency",
      },
    ],
    promise: 13,
    test: "limits-hold-across-nodes",
    check: "no more requests in flight",
    violation: /requests in flight: expected [4-6] to be 3/,
  },
];
