import type { BrowserContext } from "playwright-core";
import { createTestDatabase, type TestDatabase } from "../../../server/test/support/database.ts";
import { startService, type ServiceProcess } from "../../../server/test/support/serviceProcess.ts";
import { type Account, signUp } from "../../../server/test/support/testNode.ts";
import { openPage, type PageOptions, sharedBrowser, type WatchedPage } from "./browser.ts";
import { buildIfStale } from "./build.ts";

/** The real service with the page it serves, and a browser to look at it. */
export interface Dashboard {
  service: ServiceProcess;
  database: TestDatabase;
  /** A page on which nobody is signed in. */
  open(options?: PageOptions): Promise<WatchedPage>;
  /** A page on which the account is signed in. */
  openAs(account: Account, options?: PageOptions): Promise<WatchedPage>;
  newAccount(): Promise<Account>;
  stop(): Promise<void>;
}

export async function startDashboard(env: Record<string, string> = {}): Promise<Dashboard> {
  await buildIfStale();
  const database = await createTestDatabase();
  const [service, browser] = await Promise.all([
    startService({ storage: { databaseUrl: database.url }, env }),
    sharedBrowser(),
  ]);
  const contexts: BrowserContext[] = [];
  async function open(options?: PageOptions): Promise<WatchedPage> {
    const watched = await openPage(browser, service.url, options);
    contexts.push(watched.context);
    return watched;
  }
  return {
    service,
    database,
    open,
    async openAs(account, options) {
      const watched = await open(options);
      const session = JSON.stringify({ token: account.session_token, email: account.user.email });
      // Once, so that a session which ends stays ended.
      await watched.context.addInitScript(`if (sessionStorage.getItem("seen") === null) {
        sessionStorage.setItem("seen", "1");
        sessionStorage.setItem("postrider.session", ${JSON.stringify(session)});
      }`);
      return watched;
    },
    newAccount: () => signUp(service),
    async stop() {
      await Promise.all(contexts.map((context) => context.close()));
      await service.stop();
      await database.drop();
    },
  };
}
