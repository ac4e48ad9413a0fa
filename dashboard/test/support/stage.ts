import { afterAll, beforeAll } from "vitest";
import { createWebhookTarget, type WebhookTarget } from "../../../server/test/support/items.ts";
import { type Receiver, startReceiver } from "../../../server/test/support/receiver.ts";
import type { Account } from "../../../server/test/support/testNode.ts";
import { type Organization, organizationOf } from "../../../server/test/support/organization.ts";
import { type Dashboard, startDashboard } from "./dashboard.ts";

/** Everything that tests which send items need; set up before the first test of a file. */
export interface Stage {
  dashboard: Dashboard;
  /** Answers 200, and 503 at `/broken`. */
  receiver: Receiver;
  /** The account of all tests of the file. */
  account: Account;
  /** The organization of the account. */
  organization: Organization;
  /** Creates a webhook target of the account, at a path of the receiver. */
  targetAt: (path: string, fields?: Record<string, unknown>) => Promise<WebhookTarget>;
}

/** Sets up the stage before a file's tests, and stops it after them. */
export function stageOfFile(): Stage {
  const stage = {} as Stage;
  beforeAll(async () => {
    [stage.dashboard, stage.receiver] = await Promise.all([
      startDashboard(),
      startReceiver(({ path }, response) => {
        if (path === "/broken") response.writeHead(503).end("no healthy upstream");
        else response.end("ok");
      }),
    ]);
    const { dashboard, receiver } = stage;
    stage.account = await dashboard.newAccount();
    stage.organization = organizationOf(dashboard.service, stage.account, receiver);
    stage.targetAt = (path, fields) =>
      createWebhookTarget(dashboard.service, stage.account, receiver.url + path, fields);
  });
  afterAll(async () => {
    await stage.dashboard.stop();
    await stage.receiver.stop();
  });
  return stage;
}
