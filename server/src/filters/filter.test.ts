import { expect, it } from "vitest";
import { KnownFilters, matchesFilter, matchesFilters, openFilter } from "./filter.ts";

const item = {
  payload: Buffer.from('{"n":1}'),
  eventType: null,
  correlationId: null,
  orderingKey: null,
};

/* Version 1.0.0 stored 1e400 as null; a later version may store an operator that this one does not know. */
it.each([
  '{"payload":{"n":[{"numeric":["<",null]}]}}',
  '{"payload":{"n":[{"anything-but":[null]}]}}',
  '{"payload":{"n":[{"cidr":"10.0.0.0/8"}]}}',
])("with a stored filter that cannot be read, every item matches and none fails: %s", async (text) => {
  const unreadable = openFilter(text);
  const readable = openFilter('{"payload":{"n":[2]}}');
  expect(matchesFilter(item, unreadable)).toBe(true);
  expect([...(await matchesFilters(item, [unreadable, readable])).values()]).toEqual([true, false]);
});

it("filters that are large together push the owners written first out of the cache", () => {
  const known = new KnownFilters();
  const large = openFilter(JSON.stringify({ payload: { a: ["x".repeat(4_000)] } }));
  for (let owner = 0; owner < 2_000; owner++) known.note(String(owner), [large]);
  expect(known.of("0")).toEqual([]);
  const kept = Array.from({ length: 2_000 }, (_, owner) => known.of(String(owner)).length);
  expect(kept.lastIndexOf(0)).toBe(2_000 - 1 - Math.floor((4 * 2 ** 20) / large.size));
  // An owner's filters that are replaced count no more.
  for (let time = 0; time < 2_000; time++) known.note("1999", [large]);
  expect(known.of("1998")).toEqual([large]);
});
