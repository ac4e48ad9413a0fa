import { expect, test } from "vitest";
import { GatheredChanges } from "./gatherChanges.ts";

function gather(targets: number): GatheredChanges {
  const changes = new GatheredChanges(0);
  for (let n = 0; n < targets; n++) changes.add(String(n), { type: "target", data: { id: String(n) } });
  return changes;
}

test("each changed target is reported once, up to fifty", () => {
  const changes = gather(50);
  changes.add("0", { type: "target", data: { id: "0" } });
  expect(changes.frames(1).map(({ data }) => data)).toEqual(
    Array.from({ length: 50 }, (_, n) => JSON.stringify({ id: String(n) })),
  );
});

test("more than fifty changed targets become one instruction to read everything again", () => {
  expect(gather(51).frames(1)).toEqual([{ type: "reset", data: '{"reason":"many"}' }]);
});

test("counts of items are sent in addition to changed targets", () => {
  const changes = gather(51);
  const data = { id: "1", target_id: "t", event_type: null, status: "QUEUED", created_at: 1 } as const;
  for (let n = 0; n < 51; n++) changes.add("t", { type: "item", data });
  expect(changes.frames(1).map(({ type }) => type)).toEqual(["summary", "reset"]);
});
