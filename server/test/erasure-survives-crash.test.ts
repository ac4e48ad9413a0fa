import { expect } from "vitest";
import { createMailboxTarget } from "./support/items.ts";
import { holdRows } from "./support/heldLocks.ts";
import { placesOfText } from "./support/placesOfText.ts";
import { startService } from "./support/serviceProcess.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { databaseTest } from "./support/fixtures.ts";
import { storeErasure } from "./support/storedStates.ts";

const it = databaseTest();

const words = "erase-after-crash";

it("an erasure continues after kill -9, counts each event once and leaves none", async ({
  database,
  pool,
}) => {
  let service = await startService({ storage: { databaseUrl: database.url } });
  const account = await signUp(service);
  const key = account.api_key;
  const mailboxId = await createMailboxTarget(service, account);
  const send = async (n: number): Promise<string> => {
    const headers = { "x-correlation-id": "c" };
    return (await service.call("POST", `/t/${mailboxId}`, { key, headers, body: { words, n } })).body.id;
  };
  const ids: string[] = [];
  for (let batch = 0; batch < 40; batch++) {
    ids.push(...(await Promise.all(Array.from({ length: 50 }, (_, n) => send(batch * 50 + n)))));
  }
  // One event was also requested alone, as if its process had died between the request and the work.
  const alone = ids[1_999]!;
  await storeErasure(pool, alone);
  // A lock on an event in the middle keeps the erasure unfinished until the service is killed.
  const letGo = await holdRows(pool, "events", { id: ids.toSorted()[1_000]! });
  const { body: erasure } = await service.call("POST", "/api/v1/erasures", {
    key,
    body: { correlation_id: "c" },
  });
  const erased = async (): Promise<number> =>
    (await service.call("GET", `/api/v1/erasures/${erasure.id}`, { key })).body.erased;
  for (const least of [1, 400]) {
    const seen = await until(erased, (count) => count >= least);
    service.kill("SIGKILL");
    await service.ended;
    expect(seen).toBeLessThan(ids.length);
    service = await startService({ storage: { databaseUrl: database.url } });
  }
  await letGo();
  const { body } = await until(
    () => service.call("GET", `/api/v1/erasures/${erasure.id}`, { key }),
    ({ body: now }) => now.status === "DONE",
    60_000,
  );
  const { body: list } = await service.call("GET", "/api/v1/erasures", { key });
  expect(list.erasures).toHaveLength(2);
  for (const { status } of list.erasures) expect(status).toBe("DONE");
  expect(list.erasures[0].erased + list.erasures[1].erased).toBe(ids.length);
  expect(body.erased).toBeGreaterThanOrEqual(ids.length - 1);
  expect(await placesOfText(pool, words)).toEqual([]);
  expect((await service.call("GET", `/api/v1/mailboxes/${mailboxId}/stats`, { key })).body).toMatchObject({
    ready: 0,
    dead: 0,
  });
  await service.stop();
});
