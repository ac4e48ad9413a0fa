import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createQueue, join, leave, type Queue, type Queued, takeFirst } from "./queue.ts";

interface Item extends Queued<Item> {
  name: number;
}

function item(name: number): Item {
  return { name, ahead: null, behind: null };
}

/** Names as they stand, having walked the queue both ways. */
function names(queue: Queue<Item>): number[] {
  const forwards: number[] = [];
  const backwards: number[] = [];
  for (let at = queue.first; at !== null; at = at.behind) forwards.push(at.name);
  for (let at = queue.last; at !== null; at = at.ahead) backwards.unshift(at.name);
  expect(backwards).toEqual(forwards);
  expect(queue.length).toBe(forwards.length);
  return forwards;
}

const step = fc.oneof(
  fc.record({ act: fc.constantFrom("join", "leave"), name: fc.nat(7) }),
  fc.constant({ act: "take", name: 0 }),
);

describe("a queue", () => {
  it("keeps the order in which its items came, whoever leaves and comes back", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const items = Array.from({ length: 8 }, (_, name) => item(name));
        const queue = createQueue<Item>();
        const expected: number[] = [];
        for (const { act, name } of steps) {
          const index = expected.indexOf(name);
          if (act === "take") {
            takeFirst(queue);
            expected.shift();
          } else if (act === "leave") {
            leave(queue, items[name]!);
            if (index >= 0) expected.splice(index, 1);
          } else if (index < 0) {
            join(queue, items[name]!);
            expected.push(name);
          }
          expect(names(queue)).toEqual(expected);
        }
      }),
    );
  });

  it("holds on to nothing that has left, nor that to it", () => {
    const queue = createQueue<Item>();
    const [first, second, third] = [item(1), item(2), item(3)];
    for (const each of [first, second, third]) join(queue, each);
    leave(queue, second);
    expect(takeFirst(queue)).toBe(first);
    leave(queue, third);
    for (const each of [first, second, third]) expect(each).toMatchObject({ ahead: null, behind: null });
    expect(queue).toEqual({ first: null, last: null, length: 0 });
  });
});
