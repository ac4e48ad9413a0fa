import { expect } from "vitest";
import { createWebhookTarget, sendItem } from "./support/items.ts";
import { answerOk } from "./support/receiver.ts";
import type { ServiceProcess } from "./support/serviceProcess.ts";
import { storeDueItems } from "./support/storedItems.ts";
import { type Account, signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { stageTest } from "./support/fixtures.ts";
import { endLeases } from "./support/passedTime.ts";

const maxInFlight = 64;
/**
 * Half of all requests may be in progress to slow, untried and hanging targets, plus one to an untried target, which
 * may always be tried; an eighth to targets known to hang.
 */
const unprovenLimit = 32 + 1;
const hangingLimit = 8;
/** More targets than may have requests in flight. */
const hangingTargets = 48;
const limitMs = 30_000;
/** Requests to paths that begin with /hang, which are never answered: current number and maximum. */
let open = 0;
let most = 0;
/** Time of the first and the last of these requests. */
let firstAtMs = 0;
let lastAtMs = 0;

const it = stageTest
  .extend("begin", ({ start, receiver }) => {
    open = 0;
    most = 0;
    receiver.answer = (received, response) => {
      if (!received.path.startsWith("/hang")) {
        answerOk(received, response);
        return;
      }
      lastAtMs = performance.now();
      if (open === 0) firstAtMs = lastAtMs;
      most = Math.max(most, ++open);
      response.on("close", () => open--);
    };
    return (timeoutMs: number) =>
      start({
        POSTRIDER_MAX_IN_FLIGHT: String(maxInFlight),
        POSTRIDER_DELIVERY_TIMEOUT_MS: String(timeoutMs),
      });
  })
  /** Targets that never answer, each with waiting items. */
  .extend(
    "storeHanging",
    ({ receiver, pool }) =>
      async (service: ServiceProcess, account: Account): Promise<void> => {
        let next = 0;
        const store = async (): Promise<void> => {
          while (next < hangingTargets) {
            const url = `${receiver.url}/hang/${next++}`;
            const { id } = await createWebhookTarget(service, account, url);
            await storeDueItems(pool, { orgId: account.user.org_id, targetId: id, count: 3 });
          }
        };
        await Promise.all(Array.from({ length: 4 }, store));
      },
  )
  /** New targets of the organization, with items that are all delivered while the other targets hang. */
  .extend(
    "expectDelivered",
    ({ receiver }) =>
      async (service: ServiceProcess, account: Account, name: string): Promise<void> => {
        const paths = [`/${name}/a`, `/${name}/b`];
        await Promise.all(
          paths.map(async (path) => {
            const { id } = await createWebhookTarget(service, account, receiver.url + path);
            for (let sent = 0; sent < 20; sent++) await sendItem(service, account, id);
            await receiver.arrivals(20, { path, limitMs });
          }),
        );
      },
  );

it("items of their organization and of another organization arrive while no hanging request has ended", async ({
  begin,
  storeHanging,
  expectDelivered,
}) => {
  // No hanging request ends during the test.
  const service = await begin(60_000);
  const [crowded, other] = [await signUp(service), await signUp(service)];
  await storeHanging(service, crowded);
  await until(
    () => open,
    (count) => count >= hangingLimit,
    limitMs,
  );
  await expectDelivered(service, other, "other");
  await expectDelivered(service, crowded, "own");
  expect(open).toBe(most);
  // The untried target counts as hanging after a second; then another untried one may be tried.
  expect(most).toBeLessThanOrEqual(unprovenLimit + Math.ceil((lastAtMs - firstAtMs) / 1_000));
});

it("items of other targets also arrive in a new process, which reads from the database that the targets failed", async ({
  begin,
  pool,
  storeHanging,
  expectDelivered,
}) => {
  const service = await begin(500);
  const [crowded, other] = [await signUp(service), await signUp(service)];
  await storeHanging(service, crowded);
  await until(
    async () => {
      const { body } = await service.call("GET", "/api/v1/targets?limit=100", { key: crowded.api_key });
      return body.targets.filter((target: { failing_since?: number }) => target.failing_since !== undefined)
        .length;
    },
    (failing) => failing === hangingTargets,
    limitMs,
  );
  service.kill("SIGKILL");
  await service.ended;
  await endLeases(pool);
  await until(
    () => open,
    (count) => count === 0,
  );
  most = 0;
  const anew = await begin(60_000);
  await until(
    () => open,
    (count) => count === hangingLimit,
    limitMs,
  );
  await expectDelivered(anew, other, "other");
  await expectDelivered(anew, crowded, "own");
  expect(open).toBe(hangingLimit);
  expect(most).toBe(hangingLimit);
});
