/** A change of one file. */
export interface Edit {
  /** Below `server/src`. */
  file: string;
  /** Every occurrence is replaced. */
  find: string;
  replace: string;
}

/** A fault that somebody could bring into the service, and the test that must notice it. */
export interface Mutant {
  /** What the bad build does. */
  name: string;
  edits: readonly Edit[];
  /** Of `server/test`, without its ending. */
  test: string;
  /** Part of a test's name, where one of the file is enough. */
  pattern?: string;
}

export const mutants: readonly Mutant[] = [
  {
    name: "answers 202 before the commit",
    edits: [
      {
        file: "intake/intake.ts",
        find: "run: accept,",
        replace: `run: async (items) => {
      const lease = hold(sink.newLease());
      acceptItems(pool, items, lease, (item) => sink.hasRoom(item.targetId)).catch(() => undefined);
      return items.map(({ id }) => ({ code: "a", id, rowId: id, kind: 1, targetVersion: 1, lease }) as const);
    },`,
      },
    ],
    test: "accepted-item-survives-crash",
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
    test: "accepted-item-survives-crash",
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
    test: "dead-node-is-taken-over",
    pattern: "frozen",
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
    test: "dead-node-is-taken-over",
    pattern: "killed",
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
    test: "one-item-per-idempotency-key",
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
    test: "one-usage-record-per-item",
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
    test: "revocation-is-immediate",
    pattern: "rotated secret",
  },
  {
    name: "accepts for disabled mailboxes",
    edits: [
      {
        file: "postgres/sql/intake/accept_items.sql",
        find: "when not t.enabled and t.kind = 'mailbox' then 'd'",
        replace: "",
      },
    ],
    test: "disabled-targets-hold-what-comes",
    pattern: "refuses items and replays",
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
    test: "hanging-targets-run-on-a-budget",
    pattern: "of another organization arrive",
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
    test: "graceful-stop-loses-nothing",
    pattern: "with a backlog",
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
    test: "backlog-drains-after-faults",
    pattern: "was down",
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
    test: "backlog-drains-after-faults",
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
    test: "retries-follow-the-schedule",
    pattern: "after the interval",
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
    test: "standard-webhooks-delivery",
    pattern: "exactly as received",
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
    test: "backlog-drains-after-faults",
    pattern: "loses answers",
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
    test: "backlog-is-sent-once-within-the-limit",
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
    test: "replays-survive-kills",
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
    test: "replays-survive-kills",
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
    test: "mailbox-history",
    pattern: "no overlapping claims",
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
        find: "requests.map((request) => request.leaseMs)",
        replace: "requests.map((request) => request.leaseMs + Math.round(deps.nowMs() - Date.now()))",
      },
    ],
    test: "mailbox-history",
    pattern: "no overlapping claims",
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
    test: "accepted-item-survives-crash",
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
        file: "publications/publisher.ts",
        find: "const stored: Stored[] = [];",
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
  const stored: Stored[] = [];`,
      },
    ],
    test: "accepted-item-survives-crash",
  },
  {
    name: "delivers what a disabled target holds",
    edits: [
      {
        file: "postgres/sql/delivery/claim_deliveries.sql",
        find: "    continue when not v_target.enabled;\n",
        replace: "",
      },
    ],
    test: "disabled-targets-hold-what-comes",
    pattern: "holds",
  },
];
