import { expect, test } from "vitest";
import { createLogDigest } from "./logDigest.ts";

const request = (routePath: string) => ({ id: "r", method: "POST", routePath, caller: null });

test("a digest lists the most frequent refusals and counts the others", () => {
  const written: [object, string][] = [];
  const digest = createLogDigest((...line) => written.push(line));
  for (let route = 0; route < 12; route++) {
    for (let n = 0; n <= route; n++) digest.request(request(`/r${route}`), 404, 1);
  }
  digest.flush();
  const [fields] = written[0] as [{ refused: Record<string, number>; others: number }, string];
  expect(Object.keys(fields.refused)).toHaveLength(10);
  expect(fields.refused["404 POST /r11"]).toBe(12);
  expect(fields.others).toBe(1 + 2);
  digest.flush();
  expect(written).toHaveLength(1);
});

test("a digest names the slowest request, except on routes that wait by design", () => {
  const written: [object, string][] = [];
  const digest = createLogDigest((...line) => written.push(line));
  digest.request(request("/a"), 200, 999);
  digest.request(request("/b"), 200, 1_500);
  digest.request(request("/c"), 200, 1_200);
  digest.request(request("/api/v1/mailboxes/:mailbox_id/claim"), 200, 20_000);
  digest.flush();
  expect(written).toEqual([
    [{ count: 2, slowest: expect.objectContaining({ route: "/b", duration_ms: 1_500 }) }, "slow requests"],
  ]);
});

test("a digest reports the first fault of a kind, and again after its window", () => {
  const digest = createLogDigest(() => undefined);
  const seen = ["a", "a", "b", "a"].map((text) => digest.isFirst(text));
  expect(seen).toEqual([true, false, true, false]);
  digest.flush();
  expect(digest.isFirst("a")).toBe(true);
});
