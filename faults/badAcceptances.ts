import type { Mutant } from "./mutant.ts";

/** Known-bad builds that break the promises about acceptance. */
export const badAcceptances: readonly Mutant[] = [
  {
    name: "answers 202 before the commit",
    edits: [
      {
        file: "intake/intake.ts",
        find: "const acceptances = await acceptItems(pool, batch, startLease(sink), isImmediate);",
        replace: `const lease = startLease(sink);
        acceptItems(pool, batch, lease, isImmediate).catch(() => undefined);
        const acceptances = batch.map(({ id }): Acceptance => {
          return { outcome: "leased", id, kind: 1, rowId: id, targetVersion: 1, lease };
        });`,
      },
    ],
    promise: 1,
    test: "accepted-item-survives-crash",
    check: "what was answered with 202",
    violation: /acknowledged, and not stored: expected \[ /,
  },
  {
    name: "stores no delivery for items that it dispatches from memory",
    edits: [
      {
        file: "postgres/sql/intake/accept_items.sql",
        find: "where (v_codes is null or v_codes[n] = 'a')\n      and not is_pulled",
        replace:
          "where (v_codes is null or v_codes[n] = 'a') and not p_group_immediate[g]\n      and not is_pulled",
      },
    ],
    promise: 1,
    test: "accepted-item-survives-crash",
    check: "what was answered with 202",
    violation: /stored, and not delivered: expected \[ /,
  },
  {
    name: "does not compare the body when an idempotency key repeats",
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
    name: "charges for duplicates",
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
    name: "accepts items for disabled mailboxes",
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
    name: "parses the payload and stores it serialized again",
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
    name: "writes the usage record in a separate transaction after the commit",
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
    name: "stores a publication's deliveries in a separate transaction after the commit",
    edits: [
      {
        file: "postgres/sql/publish/store_published_items.sql",
        find: "where i.state <> 'u'\n  group by i.target_id, i.state",
        replace: "where false\n  group by i.target_id, i.state",
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
];
