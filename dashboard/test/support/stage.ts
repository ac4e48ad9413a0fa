import { afterAll, beforeAll } from "vitest";
import { type Receiver, startReceiver } from "../../../server/test/support/receiver.ts";
import type { Account } from "../../../server/test/support/testNode.ts";
import { type Dashboard, startDashboard } from "./dashboard.ts";

/** The parts of tests that send, made when the first test of a file begins. */
export interface Stage {
  dashboard: Dashboard;
  /** Answers 200, and 503 at `/broken`. */
  receiver: Receiver;
  /** One for all tests of the file. */
  account: Account;
}

/** Sets a file's stage before its tests, and clears it after them. */
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
    stage.account = await stage.dashboard.newAccount();
  });
  afterAll(async () => {
    await stage.dashboard.stop();
    await stage.receiver.stop();
  });
  return stage;
}
