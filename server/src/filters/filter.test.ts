import { expect, it } from "vitest";
import { matchesFilter, matchesFilters, openFilter } from "./filter.ts";

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
