import { expect, onTestFinished } from "vitest";
import { until } from "./support/until.ts";
import { createWebhookTarget, listEvents, readEvent, sendItem, sendItems } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";
import { setFailingFor } from "./support/storedStates.ts";

const fiveDaysSeconds = 5 * 86_400;

const it = sharedServiceTest()
  .extend(
    "readTarget",
    file,
    ({ service, account }) =>
      async (id: string): Promise<{ enabled: boolean; disabled_reason?: string; failing_since?: number }> =>
        (await service.call("GET", `/api/v1/targets/${id}`, { key: account.api_key })).body,
  )
  .extend("isDisabled", file, ({ readTarget }) => async (id: string): Promise<void> => {
    await until(async () => !(await readTarget(id)).enabled);
  })
  .extend("failingSince", file, ({ readTarget }) => async (id: string): Promise<number | null> => {
    return (await readTarget(id)).failing_since ?? null;
  });

it.beforeAll(({ receiver }) => {
  receiver.answer = ({ path }, response) => {
    const status = /^\/(\d{3})/.exec(path)?.[1] ?? "200";
    response.writeHead(Number(status)).end();
  };
});

it("410 Gone fails the item at once, disables the target with the reason on it, and holds later items", async ({
  service,
  account,
  receiver,
  isDisabled,
  readTarget,
  settled,
}) => {
  const target = await createWebhookTarget(service, account, `${receiver.url}/410`);
  const id = await sendItem(service, account, target.id);
  await isDisabled(target.id);
  expect((await readTarget(target.id)).disabled_reason).toContain("410 Gone");
  // The target's health is recorded at once, an attempt together with others a moment later.
  await settled(id, "FAILED");
  const { delivery_attempts: attempts } = await readEvent(service, account, id);
  expect(attempts).toMatchObject([{ status_code: 410, error: expect.stringContaining("410") }]);
  const log = await service.call("GET", `/api/v1/audit-log?object_id=${target.id}`, { key: account.api_key });
  expect(log.body.entries).toMatchObject([
    {
      action: "target.disabled",
      actor: { kind: "service", id: null, name: "delivery" },
      before: { enabled: true },
      after: { enabled: false, disabled_reason: expect.stringContaining("410 Gone") },
      client_address: null,
    },
    { action: "target.created" },
  ]);
  const held = await sendItem(service, account, target.id);
  expect((await readEvent(service, account, held)).event.status).toBe("QUEUED");
});

it("410 Gone holds the other waiting items: they are sent when the owner enables the target again", async ({
  service,
  account,
  receiver,
  isDisabled,
  readTarget,
}) => {
  const path = "/410-and-back";
  const target = await createWebhookTarget(service, account, receiver.url + path);
  const ids = await sendItems(service, account, target.id, 50);
  await isDisabled(target.id);
  const usual = receiver.answer;
  onTestFinished(() => void (receiver.answer = usual));
  receiver.answer = answerOk;
  await service.call("PATCH", `/api/v1/targets/${target.id}`, {
    key: account.api_key,
    body: { enabled: true },
  });
  expect(await readTarget(target.id)).toMatchObject({ enabled: true });
  expect(await readTarget(target.id)).not.toHaveProperty("disabled_reason");
  await until(async () => {
    const waiting = await listEvents(service, account, `target_id=${target.id}&status=QUEUED`);
    return waiting.length === 0;
  });
  const events = await listEvents(service, account, `target_id=${target.id}`);
  expect(events.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  // Attempts that were in progress got a 410, too.
  expect(new Set(events.map(({ status }) => status))).toEqual(new Set(["FAILED", "DELIVERED"]));
});

it("a target that failed every attempt for five days is disabled with the reason on it", async ({
  service,
  account,
  receiver,
  failingSince,
  readTarget,
  pool,
  isDisabled,
  settled,
}) => {
  const target = await createWebhookTarget(service, account, `${receiver.url}/500`);
  const id = await sendItem(service, account, target.id);
  await until(async () => (await failingSince(target.id)) !== null);
  expect(await readTarget(target.id)).toMatchObject({ enabled: true });
  await setFailingFor(pool, target.id, fiveDaysSeconds + 1);
  await sendItem(service, account, target.id);
  await isDisabled(target.id);
  expect((await readTarget(target.id)).disabled_reason).toContain("5 days");
  await settled(id, "RETRYING");
});

it("after one success within the five days, the count starts again", async ({
  service,
  account,
  receiver,
  failingSince,
  pool,
  readTarget,
}) => {
  const target = await createWebhookTarget(service, account, `${receiver.url}/500-then`);
  await sendItem(service, account, target.id);
  await until(async () => (await failingSince(target.id)) !== null);
  await setFailingFor(pool, target.id, fiveDaysSeconds + 1);
  const patch = { key: account.api_key, body: { description: "unrelated" } };
  await service.call("PATCH", `/api/v1/targets/${target.id}`, patch);
  const usual = receiver.answer;
  onTestFinished(() => void (receiver.answer = usual));
  receiver.answer = answerOk;
  await sendItem(service, account, target.id);
  await until(async () => (await failingSince(target.id)) === null);
  receiver.answer = usual;
  await sendItem(service, account, target.id);
  await until(async () => (await failingSince(target.id)) !== null);
  expect(await readTarget(target.id)).toMatchObject({ enabled: true });
});

it("a receiver that only asks to retry later is not disabled", async ({
  service,
  account,
  receiver,
  pool,
  readTarget,
}) => {
  for (const status of [408, 425, 429]) {
    const path = `/${status}`;
    const target = await createWebhookTarget(service, account, receiver.url + path);
    await setFailingFor(pool, target.id, 2 * fiveDaysSeconds);
    const id = await sendItem(service, account, target.id);
    await until(async () => {
      return (await readEvent(service, account, id)).delivery_attempts.length === 1;
    });
    expect(await readTarget(target.id)).toMatchObject({ enabled: true });
  }
});

it("410 from the former URL of a target that was changed during the attempt does not disable it", async ({
  service,
  account,
  receiver,
  readTarget,
  settled,
}) => {
  const path = "/moving";
  const target = await createWebhookTarget(service, account, receiver.url + path, { max_retries: 0 });
  const usual = receiver.answer;
  onTestFinished(() => void (receiver.answer = usual));
  const answerGone = Promise.withResolvers<() => void>();
  receiver.answer = (received, response) => {
    if (received.path === path) answerGone.resolve(() => void response.writeHead(410).end());
    else response.writeHead(200).end();
  };
  const id = await sendItem(service, account, target.id);
  const answer = await answerGone.promise;
  const patch = { key: account.api_key, body: { url: `${receiver.url}/moved` } };
  expect((await service.call("PATCH", `/api/v1/targets/${target.id}`, patch)).status).toBe(200);
  answer();
  await settled(id, "FAILED");
  await settled(await sendItem(service, account, target.id), "DELIVERED");
  expect(await readTarget(target.id)).toMatchObject({ enabled: true });
});

it("a change to the present URL and state, as of tools that send every field, keeps the count of the five days", async ({
  service,
  account,
  pool,
  failingSince,
  receiver,
}) => {
  const url = `${receiver.url}/500-still`;
  const target = await createWebhookTarget(service, account, url);
  await setFailingFor(pool, target.id, fiveDaysSeconds - 60);
  const since = await failingSince(target.id);
  const path = `/api/v1/targets/${target.id}`;
  await service.call("PATCH", path, { key: account.api_key, body: { url, enabled: true } });
  expect(await failingSince(target.id)).toBe(since);
  await service.call("PATCH", path, { key: account.api_key, body: { url: `${receiver.url}/other` } });
  expect(await failingSince(target.id)).toBeNull();
});
