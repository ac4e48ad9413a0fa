/** A fault that somebody could bring into the service, and the test that must notice it. */
export interface Mutant {
  /** What the bad build does. */
  name: string;
  /** Below `server/src`. */
  file: string;
  /** Every occurrence is replaced. */
  find: string;
  replace: string;
  /** Of `server/test`, without its ending. */
  test: string;
  /** Part of a test's name, where one of the file is enough. */
  pattern?: string;
}

export const mutants: readonly Mutant[] = [
  {
    name: "answers 202 before the commit",
    file: "intake/intake.ts",
    find: "run: accept,",
    replace: `run: async (items) => {
      const lease = hold(sink.newLease());
      acceptItems(pool, items, lease, (item) => sink.hasRoom(item.targetId)).catch(() => undefined);
      return items.map(({ id }) => ({ code: "a", id, rowId: id, kind: 1, targetVersion: 1, lease }) as const);
    },`,
    test: "accepted-item-survives-crash",
  },
  {
    name: "keeps what it dispatches at once in memory only",
    file: "postgres/sql/intake/accept_items.sql",
    find: "where (v_codes is null or v_codes[n] = 'a')\n",
    replace: "where (v_codes is null or v_codes[n] = 'a') and not p_group_immediate[g]\n",
    test: "accepted-item-survives-crash",
  },
  {
    name: "finishes without the lease's token",
    file: "postgres/sql/delivery/finish_deliveries.sql",
    find: "and w.lease_token = p_row_tokens[r]",
    replace: "",
    test: "dead-node-is-taken-over",
    pattern: "frozen",
  },
  {
    name: "never sweeps leases",
    file: "postgres/sql/delivery/sweep_deliveries.sql",
    find: "where d.lease_until < v_now_ms",
    replace: "where false",
    test: "dead-node-is-taken-over",
    pattern: "killed",
  },
  {
    name: "looks for the winner of an idempotency key before it inserts",
    file: "postgres/sql/intake/accept_items.sql",
    find: "when winners[i.ord] <> i.id and i.body_digest = v_winner_bodies[i.ord] then 'r'\n          when winners[i.ord] <> i.id then 'c'",
    replace: "when exists (select from events e where e.id = winners[i.ord]) then 'r'",
    test: "one-item-per-idempotency-key",
  },
  {
    name: "charges duplicates",
    file: "postgres/sql/intake/accept_items.sql",
    find: "or v_codes[n] in ('a', 'f')\n  group by",
    replace: "or v_codes[n] in ('a', 'f', 'r')\n  group by",
    test: "one-usage-record-per-item",
  },
  {
    name: "takes a target as it was a second ago",
    file: "delivery/dispatch/dispatcher.ts",
    find: "lane.config.version < next.targetVersion ||",
    replace: "",
    test: "revocation-is-immediate",
    pattern: "rotated secret",
  },
  {
    name: "accepts for disabled mailboxes",
    file: "postgres/sql/intake/accept_items.sql",
    find: "when not t.enabled and t.kind = 'mailbox' then 'd'",
    replace: "",
    test: "disabled-targets-hold-what-comes",
    pattern: "refuses items and replays",
  },
  {
    name: "lets targets that nobody has tried have every connection",
    file: "delivery/dispatch/dispatcher.ts",
    find: 'firstStanding: borrowing === undefined ? "untried" : "prompt",',
    replace: 'firstStanding: "prompt",',
    test: "hanging-targets-run-on-a-budget",
    pattern: "of another organization arrive",
  },
  {
    name: "stops without giving its leases back",
    file: "delivery/dispatch/dispatcher.ts",
    find: "for (const lane of this.#lanes.all()) this.#releaseWaiting(lane);",
    replace: "",
    test: "graceful-stop-loses-nothing",
    pattern: "with a backlog",
  },
  {
    name: "forgets items that are to be retried when they came with others",
    file: "postgres/sql/delivery/finish_deliveries.sql",
    find: "where p_outcomes[m.n] = 2\n",
    replace: "where false\n",
    test: "backlog-drains-after-faults",
    pattern: "was down",
  },
  {
    name: "forgets the attempts of items that were delivered together",
    file: "postgres/sql/delivery/finish_deliveries.sql",
    find: "    from held h\n    where h.is_group\n  ),",
    replace: "    from held h\n    where false\n  ),",
    test: "backlog-drains-after-faults",
  },
  {
    name: "retries at once",
    file: "postgres/sql/delivery/finish_deliveries.sql",
    find: "v_now_ms + p_delays_ms[h.last]",
    replace: "v_now_ms",
    test: "retries-follow-the-schedule",
    pattern: "after the interval",
  },
  {
    name: "stores the payload as it understands it",
    file: "intake/routes.ts",
    find: "payload: body,",
    replace: "payload: Buffer.from(JSON.stringify(JSON.parse(body.toString()))),",
    test: "standard-webhooks-delivery",
    pattern: "exactly as received",
  },
  {
    name: "keeps its claimed items to itself when the answer was lost",
    file: "postgres/sql/delivery/claim_deliveries.sql",
    find: "set lease_until = v_now_ms + p_lease_ms,",
    replace: "set lease_until = v_now_ms + 86400000,",
    test: "backlog-drains-after-faults",
    pattern: "loses answers",
  },
  {
    name: "keeps what it lends",
    file: "delivery/dispatch/lending.ts",
    find: "setMaxWindow(lane, lane.maxWindow - requests);",
    replace: "",
    test: "backlog-is-sent-by-two-threads",
    pattern: "both threads",
  },
  {
    name: "ends the helping thread with what it has leased",
    file: "delivery/second-thread/run.ts",
    find: "await dispatcher.stop();",
    replace: "",
    test: "backlog-is-sent-by-two-threads",
    pattern: "is stopped while both send",
  },
  {
    name: "never takes over the replay of a dead node",
    file: "replays/claimReplay.ts",
    find: "and (r.lease_until is null or r.lease_until < (select ms from clock))",
    replace: "and r.lease_until is null",
    test: "replays-survive-kills",
  },
];
