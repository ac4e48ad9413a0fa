import { describe, expect, onTestFinished } from "vitest";
import { acceptedEvents } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { countLockWaits, holdRows } from "./support/heldLocks.ts";
import { allAre, readPublication, publishingTest as it } from "./support/publishing.ts";
import { until } from "./support/until.ts";
import { citusUrl } from "./support/citus.ts";
import { placesOfText } from "./support/placesOfText.ts";

/* Replays and erasures of publications, also beside processes of versions without publications. */

describe("a replay of a publication", () => {
  it("to failed targets creates one item each, and none while a replay of it waits", async ({
    own,
    customer,
    receiver,
  }) => {
    const [good, bad] = [await customer.webhook(), await customer.webhook({ max_retries: 0 })];
    let isMended = false;
    receiver.answer = ({ path }, response) =>
      void response.writeHead(path === bad.path && !isMended ? 500 : 200).end();
    const { body } = await customer.publish({ n: 1 });
    const failed = body.items.find((item: { target_id: string }) => item.target_id === bad.id);
    await own.settled(failed.id, "FAILED");
    isMended = true;
    const replay = () => own.call("POST", `/api/v1/publications/${body.id}/replay`, { to: "failed" });
    const both = await Promise.all([replay(), replay()]);
    const items = both.flatMap((answer) => answer.body.items);
    expect(items).toMatchObject([{ target_id: bad.id, source_event_id: failed.id, status: "QUEUED" }]);
    await own.settled(items[0].id, "DELIVERED");
    const [seen, other] = (await readPublication(own, body.id)).items.toSorted(
      (one: { status: string }, two: { status: string }) => (one.status < two.status ? 1 : -1),
    );
    expect(seen).toMatchObject({
      status: "FAILED",
      latest_replay: { id: items[0].id, status: "DELIVERED" },
    });
    expect(other).toMatchObject({ status: "DELIVERED", latest_replay: null });
    expect((await replay()).body).toEqual({ items: [], skipped: [] });
    expect(receiver.at(bad.path).map((one) => one.body.toString())).toEqual(['{"n":1}', '{"n":1}']);
    expect(receiver.at(bad.path).map((one) => one.id)).toEqual([failed.id, failed.id]);
    expect(receiver.at(good.path)).toHaveLength(1);
  });

  it("to failed targets uses new webhook-ids when the body asks for them", async ({
    own,
    customer,
    receiver,
  }) => {
    const target = await customer.webhook({ max_retries: 0 });
    let isMended = false;
    receiver.answer = (_received, response) => void response.writeHead(isMended ? 200 : 500).end();
    const { body } = await customer.publish({ n: 2 });
    await own.settled(body.items[0].id, "FAILED");
    isMended = true;
    const wish = { to: "failed", webhook_id: "new" };
    const replay = await own.call("POST", `/api/v1/publications/${body.id}/replay`, wish);
    const { id } = replay.body.items[0];
    const arrived = await receiver.arrivals(2, { path: target.path });
    expect(arrived.map((one) => one.id)).toEqual([body.items[0].id, id]);
  });

  it("to failed targets leaves out items of which any copy has arrived, also if a later replay of it failed", async ({
    own,
    customer,
    receiver,
  }) => {
    const [arriving, mended] = [
      await customer.webhook({ max_retries: 0 }),
      await customer.webhook({ max_retries: 0 }),
    ];
    let failing = [mended.path];
    onTestFinished(() => void (receiver.answer = answerOk));
    receiver.answer = ({ path }, response) =>
      void response.writeHead(failing.includes(path) ? 500 : 200).end();
    const { body } = await customer.publish({ n: 4 });
    const itemAt = (targetId: string): string =>
      body.items.find((item: { target_id: string }) => item.target_id === targetId).id;
    await own.settled(itemAt(arriving.id), "DELIVERED");
    await own.settled(itemAt(mended.id), "FAILED");
    const replayEvent = async (id: string): Promise<string> =>
      (await own.call("POST", `/api/v1/events/${id}/replay`)).body.id;
    failing = [];
    await own.settled(await replayEvent(itemAt(mended.id)), "DELIVERED");
    failing = [arriving.path, mended.path];
    for (const { id } of [arriving, mended]) await own.settled(await replayEvent(itemAt(id)), "FAILED");
    const replay = await own.call("POST", `/api/v1/publications/${body.id}/replay`, { to: "failed" });
    expect(replay).toMatchObject({ status: 202, body: { items: [], skipped: [] } });
  });

  it("to failed targets and an erasure of one of its items at the same time do not block each other", async ({
    own,
    customer,
    receiver,
    node,
    skip,
  }) => {
    skip(citusUrl !== undefined, "the coordinator does not see lock waits of workers");
    for (let n = 0; n < 2; n++) await customer.webhook({ max_retries: 0 });
    onTestFinished(() => void (receiver.answer = answerOk));
    receiver.answer = (_received, response) => void response.writeHead(500).end();
    const { body } = await customer.publish({ n: 5 });
    await allAre(own, body.id, "FAILED");
    // Replays begin with the last item.
    const [erased, first] = body.items;
    for (const { target_id: id } of body.items) {
      await until(async () => (await own.call("GET", `/api/v1/targets/${id}`)).body.failing_since > 0);
    }
    const letGo = await holdRows(node.pool, "targets", { id: first.target_id });
    onTestFinished(letGo);
    const replay = own.call("POST", `/api/v1/publications/${body.id}/replay`, { to: "failed" });
    await until(async () => (await countLockWaits(node.pool)) === 1);
    const erasure = own.call("POST", `/api/v1/events/${erased.id}/erase`);
    await until(async () => (await countLockWaits(node.pool)) === 2);
    await letGo();
    expect((await replay).body.items).toHaveLength(2);
    expect(await erasure).toMatchObject({ status: 200, body: { status: "DONE", erased: 2 } });
  });

  it("to targets that were added later creates new items, once", async ({
    own,
    node,
    customer,
    receiver,
  }) => {
    const { body } = await customer.publish({ event_type: "a.b" });
    const added = await customer.webhook({ event_types: ["a.*"] });
    await customer.webhook({ event_types: ["b.*"] });
    const mailbox = await customer.mailbox();
    const replay = () => own.call("POST", `/api/v1/publications/${body.id}/replay`, { to: "added" });
    const both = await Promise.all([replay(), replay()]);
    const items = both.flatMap((answer) => answer.body.items);
    expect(new Set(items.map((item) => item.target_id))).toEqual(new Set([added.id, mailbox]));
    expect(items).toHaveLength(2);
    const [arrived] = await receiver.arrivals(1, { path: added.path });
    expect(arrived!.body.toString()).toBe('{"event_type":"a.b"}');
    expect((await readPublication(own, body.id)).item_count).toBe(2);
    expect(await acceptedEvents(node, own.account)).toBe(2);
  });
});

it("a publication is not sent to added targets while its correlation id is being erased", async ({
  own,
  customer,
  node,
}) => {
  await customer.webhook();
  const { body } = await customer.publish({ n: 6 }, { "x-correlation-id": "leaving" });
  await allAre(own, body.id, "DELIVERED");
  const letGo = await holdRows(node.pool, "events", { id: body.items[0].id });
  onTestFinished(letGo);
  const erasure = await own.call("POST", "/api/v1/erasures", { correlation_id: "leaving" });
  await customer.webhook();
  const replay = await own.call("POST", `/api/v1/publications/${body.id}/replay`, { to: "added" });
  expect(replay.status).toBe(410);
  await letGo();
  const read = () => own.call("GET", `/api/v1/erasures/${erasure.body.id}`);
  await until(async () => (await read()).body.status === "DONE");
});

it("a repeated publication returns the first answer, also after a replay to added targets", async ({
  own,
  customer,
}) => {
  await customer.webhook();
  await customer.mailbox();
  const publish = () => customer.publish({ n: 3 }, { "idempotency-key": "once" });
  const first = await publish();
  expect(first.body.items).toHaveLength(2);
  await customer.webhook();
  const replay = await own.call("POST", `/api/v1/publications/${first.body.id}/replay`, { to: "added" });
  expect(replay.body.items).toHaveLength(1);
  const again = await publish();
  expect(again.headers["idempotency-replayed"]).toBe("true");
  expect(again.body).toEqual(first.body);
  expect((await readPublication(own, first.body.id)).item_count).toBe(3);
});

it("erasing the last item of a publication empties the publication; erasing earlier items only detaches them", async ({
  own,
  customer,
  node,
}) => {
  for (let n = 0; n < 2; n++) await customer.webhook();
  const { body } = await customer.publish({ secret: "to be forgotten" }, { "x-correlation-id": "forget" });
  await allAre(own, body.id, "DELIVERED");
  const replay = () => own.call("POST", `/api/v1/publications/${body.id}/replay`, { to: "added" });
  const [first, second] = body.items;
  expect((await own.call("POST", `/api/v1/events/${first.id}/erase`)).status).toBeLessThan(300);
  expect((await own.call("GET", `/api/v1/events/${first.id}/payload`)).status).toBe(410);
  expect((await own.call("GET", `/api/v1/events/${second.id}/payload`)).body).toEqual({
    secret: "to be forgotten",
  });
  expect((await replay()).status).toBeLessThan(300);
  expect((await own.call("POST", `/api/v1/events/${second.id}/erase`)).status).toBeLessThan(300);
  expect((await replay()).status).toBe(410);
  expect(await placesOfText(node.pool, "to be forgotten")).toEqual([]);
});

it("erasing a correlation id also empties a publication that reached no target", async ({
  own,
  customer,
  node,
}) => {
  const { body } = await customer.publish(
    { secret: "heard by nobody" },
    { "x-correlation-id": "nobody-heard" },
  );
  const erasure = await own.call("POST", "/api/v1/erasures", { correlation_id: "nobody-heard" });
  await until(
    () => own.call("GET", `/api/v1/erasures/${erasure.body.id}`),
    (answer) => JSON.stringify(answer.body).includes('"DONE"'),
  );
  const replay = await own.call("POST", `/api/v1/publications/${body.id}/replay`, { to: "added" });
  expect(replay.status).toBe(410);
  expect(await placesOfText(node.pool, "heard by nobody")).toEqual([]);
});
