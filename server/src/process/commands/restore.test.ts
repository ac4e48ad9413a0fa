import { expect } from "vitest";
import { stageTest } from "../../../test/support/fixtures.ts";
import { createWebhookTarget, sendItem } from "../../../test/support/items.ts";
import { signUp } from "../../../test/support/testNode.ts";
import { endAllLeases } from "../../delivery/rows/sweepDeliveries.ts";
import { bringUpToDate } from "./restore.ts";

stageTest(
  "a restore keeps the leases of a service that started before the restore ended",
  async ({ database, pool, start, receiver }) => {
    receiver.answer = () => undefined;
    const service = await start();
    const account = await signUp(service);
    const target = await createWebhookTarget(service, account, receiver.url);
    await sendItem(service, account, target.id);
    await receiver.arrivals(1);
    // Killed, so that no process leases the delivery again.
    service.kill("SIGKILL");
    await service.ended;
    await bringUpToDate(database.connection);
    expect(await endAllLeases(pool)).toBe(1);
  },
);
