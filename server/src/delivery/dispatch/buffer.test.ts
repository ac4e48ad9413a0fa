import { expect, it } from "vitest";
import { collectGarbage } from "../../../test/support/collectGarbage.ts";
import type { Delivery } from "../../items/delivery.ts";
import { DeliveryBuffer, DeliveryQueue } from "./buffer.ts";

it("a queue of deliveries keeps no reference to a delivery that was taken out", async () => {
  const queue = new DeliveryQueue();
  for (let size = 1; size <= 10; size++) queue.push({ payload: Buffer.alloc(size) } as Delivery);
  const taken = Array.from({ length: 4 }, () => new WeakRef(queue.take()!));
  await collectGarbage();
  expect(taken.map((delivery) => delivery.deref())).toEqual(Array.from({ length: 4 }, () => undefined));
  expect(queue.bytes).toBe(5 + 6 + 7 + 8 + 9 + 10);
  expect(queue.takeAll().map(({ payload }) => payload.length)).toEqual([5, 6, 7, 8, 9, 10]);
});

it("publications fill half of the memory, so that single items of others have room", () => {
  const buffer = new DeliveryBuffer();
  const first = buffer.roomForPublications();
  buffer.count("prompt", undefined, first, 0);
  expect([buffer.roomForPublications(), buffer.room().deliveries]).toEqual([0, first]);
  expect(buffer.hasRoomForUnknown("prompt")).toBe(true);
});
