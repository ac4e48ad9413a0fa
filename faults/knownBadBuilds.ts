import type { Mutant } from "./mutant.ts";

export const mutants: readonly Mutant[] = [
  {
    name: "answers 202 before the commit",
    edits: [
      {
        file: "intake/intake.ts",
        find: "return acceptItems(pool, batch, startLease(sink), (item) => sink.hasRoom(item.targetId));",
        replace: `const lease = startLease(sink);
        acceptItems(pool, batch, lease, (item) => sink.hasRoom(item.targetId)).catch(() => undefined);
        return Promise.resolve(
          batch.map(({ id }): Acceptance => {
            return { outcome: "leased", id, kind: 1, rowId: id, targetVersion: 1, lease };
          }),
        );`,
      },
    ],
    promise: 1,
    test: "accepted-item-survives-crash",
    check: "what was answered with 202",
    violation: /acknowledged, and not stored: expected \[ /,
  },
  {
    name: "keeps what it dispatches at once in memory only",
    edits: [
      {
        file: "postgres/sql/intake/accept_items.sql",
        find: "where (v_codes is null or v_codes[n] = 'a')\n",
        replace: "where (v_codes is null or v_codes[n] = 'a') and not p_group_immediate[g]\n",
      },
    ],
    promise: 1,
    test: "accepted-item-survives-crash",
    check: "what was answered with 202",
    violation: /stored, and not delivered: expected \[ /,
  },
  {
    name: "finishes without the lease's token",
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
    name: "never sweeps leases",
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
    name: "looks for the winner of an idempotency key before it inserts",
    edits: [
      {
        file: "postgres/sql/intake/accept_items.sql",
        find: "when winners[i.ord] <> i.id and i.body_digest = v_winner_bodies[i.ord] then 'r'\n          when winners[i.ord] <> i.id then 'c'",
        replace: "when exists (select from events e where e.id = winners[i.ord]) then 'r'",
      },
    ],
    promise: 3,
    test: "one-item-per-idempotency-key",
    check: "with another body is refused",
    violation: /AssertionError: expected \[ 202, undefined \] to deeply equal \[ 409/,
  },
  {
    name: "charges duplicates",
    edits: [
      {
        file: "postgres/sql/intake/accept_items.sql",
        find: "or v_codes[n] in ('a', 'f')\n  group by",
        replace: "or v_codes[n] in ('a', 'f', 'r')\n  group by",
      },
    ],
    promise: 2,
    test: "one-usage-record-per-item",
    check: "counts nothing for duplicates",
    violation: /AssertionError: expected 2 to be 1/,
  },
  {
    name: "takes a target as it was a second ago",
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
    name: "accepts for disabled mailboxes",
    edits: [
      {
        file: "postgres/sql/intake/accept_items.sql",
        find: "when not t.enabled and is_pulled(kind_number(t.kind)) then 'd'",
        replace: "",
      },
    ],
    promise: null,
    test: "disabled-targets-hold-what-comes",
    check: "refuses items and replays",
    violation: /AssertionError: expected \[ 202, undefined \] to deeply equal \[ 409/,
  },
  {
    name: "lets targets that nobody has tried have every connection",
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
    violation: /to be less than or equal to 33|of 20 requests arrived/,
  },
  {
    name: "stops without giving its leases back",
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
    name: "forgets items that are to be retried when they came with others",
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
    name: "forgets the attempts of items that were delivered together",
    edits: [
      {
        file: "postgres/sql/delivery/finish_deliveries.sql",
        find: "    from held h\n    where h.is_group\n  ),",
        replace: "    from held h\n    where false\n  ),",
      },
    ],
    promise: 1,
    test: "backlog-drains-after-faults",
    check: "loses answers",
    violation: /AssertionError: expected \{ delivered: /,
  },
  {
    name: "retries at once",
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
    name: "stores the payload as it understands it",
    edits: [
      {
        file: "intake/routes.ts",
        find: "payload: body,",
        replace: "payload: Buffer.from(JSON.stringify(JSON.parse(body.toString()))),",
      },
    ],
    promise: null,
    test: "standard-webhooks-delivery",
    check: "exactly as received",
    violation: /AssertionError: expected false to be true/,
  },
  {
    name: "keeps its claimed items to itself when the answer was lost",
    edits: [
      {
        file: "postgres/sql/delivery/claim_deliveries.sql",
        find: "set lease_until = v_now_ms + p_lease_ms,",
        replace: "set lease_until = v_now_ms + 86400000,",
      },
    ],
    promise: 8,
    test: "backlog-drains-after-faults",
    check: "loses answers",
    violation: /not within \d+ ms, last seen: false/,
  },
  {
    name: "has more requests under way to a target than it may",
    edits: [
      {
        file: "delivery/dispatch/window.ts",
        find: "inFlight >= this.#size || ",
        replace: "",
      },
    ],
    promise: 13,
    test: "backlog-is-sent-once-within-the-limit",
    check: "a backlog is sent within",
    violation: /AssertionError: expected \d+ to be 24/,
  },
  {
    name: "never takes over the replay of a dead node",
    edits: [
      {
        file: "replays/claimReplay.ts",
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
    name: "moves a replay on before it has made its events",
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
    name: "acknowledges without the claim's token",
    edits: [
      {
        file: "postgres/sql/mailbox/close_messages.sql",
        find: "and (i.claim_token is null or m.claim_token = i.claim_token)\n",
        replace: "",
      },
    ],
    promise: 4,
    test: "mailbox-history",
    check: "no overlapping claims",
    violation: /ack of \S+ succeeded /,
  },
  {
    name: "measures the leases of messages by the clock of the process",
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
        file: "mailbox/mailboxes.ts",
        find: "interface MailboxesDeps {",
        replace: "interface MailboxesDeps {\n  nowMs: () => number;",
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
    name: "charges after the commit, in a transaction of its own",
    edits: [
      {
        file: "postgres/sql/intake/accept_items.sql",
        find: "select min(get_byte(uuid_send(p_ids[n]), 15)), v_period, count(*), v_pair_orgs[p_pairs[n]]\n  from generate_series(1, v_count) as n\n  where v_codes is null\n    or v_codes[n] in ('a', 'f')\n",
        replace:
          "select min(get_byte(uuid_send(p_ids[n]), 15)), v_period, count(*), v_pair_orgs[p_pairs[n]]\n  from generate_series(1, v_count) as n\n  where false\n",
      },
      {
        file: "intake/acceptItems.ts",
        find: "return readAcceptances(",
        replace: `setTimeout(() => {
    const ids = items.map((item) => item.id);
    const period = new Date().getUTCFullYear() * 100 + new Date().getUTCMonth() + 1;
    pool
      .query(
        \`insert into usage_records (bucket, period, items, org_id)
         select min(e.bucket), $2, count(*), e.org_id from events e where e.id = any ($1) group by e.org_id\`,
        [ids, period],
      )
      .catch(() => undefined);
  }, 20);
  return readAcceptances(`,
      },
    ],
    promise: 2,
    test: "accepted-item-survives-crash",
    check: "what was answered with 202",
    violation: /items charged: expected \d+ to be \d+/,
  },
  {
    name: "fans out after the commit, in a transaction of its own",
    edits: [
      {
        file: "postgres/sql/publish/store_published_items.sql",
        find: "from waiting w\n  ),\n  activity",
        replace: "from waiting w\n    where false\n  ),\n  activity",
      },
      {
        file: "postgres/sql/publish/store_published_items.sql",
        find: "when c.sendable > p_room or",
        replace: "when c.sendable >= 0 or",
      },
      {
        file: "intake/publishItems.ts",
        find: "const stored: StoredPublication[] = [];",
        replace: `setTimeout(() => {
    const ids = rows.filter((row) => row.code === "a").map((row) => row.publication_id);
    pool
      .query(
        \`insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
         select e.bucket, e.kind, e.id, e.target_id, e.org_id, 0, array[e.id]
         from events e where e.publication_id = any ($1) and e.kind <> 2\`,
        [ids],
      )
      .catch(() => undefined);
  }, 20);
  const stored: StoredPublication[] = [];`,
      },
    ],
    promise: 1,
    test: "accepted-item-survives-crash",
    check: "what was answered with 202",
    violation: /stored, and not delivered: expected \[ /,
  },
  {
    name: "delivers what a disabled target holds",
    edits: [
      {
        file: "postgres/sql/delivery/claim_deliveries.sql",
        find: "    continue when not v_target.enabled;\n",
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
    name: "gives each node the whole rate of a target",
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
    name: "gives each node as many requests as all may have under way",
    edits: [
      {
        file: "postgres/sql/delivery/take_permits.sql",
        find: "v_target.max_concurrency - v_others",
        replace: "v_target.max_concurrency",
      },
    ],
    promise: 13,
    test: "limits-hold-across-nodes",
    check: "no more requests under way",
    violation: /requests under way: expected [4-6] to be 3/,
  },
];
