import { onTestFinished } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../server/test/support/database.ts";
import { startService, type ServiceProcess } from "../../../server/test/support/serviceProcess.ts";
import { sharedService } from "../../../server/test/support/sharedServices.ts";
import { type Account, signUp } from "../../../server/test/support/testNode.ts";
import { openPage, type PageOptions, sharedBrowser, type WatchedPage } from "./browser.ts";
import { buildIfStale } from "./build.ts";

/** A real service that serves the page, and a browser that opens it. */
export interface Dashboard {
  service: ServiceProcess;
  database: TestDatabase;
  /** Opens a page without a signed-in user. The page is closed after its test, because an open page keeps polling. */
  open(options?: OpenOptions): Promise<WatchedPage>;
  /** Opens a page on which the account is signed in. */
  openAs(account: Account, options?: OpenOptions): Promise<WatchedPage>;
  newAccount(): Promise<Account>;
  stop(): Promise<void>;
}

interface OpenOptions extends PageOptions {
  /** The concurrent test's own hook: Vitest cannot tell which of several concurrent tests opens a page. */
  onTestFinished?: typeof onTestFinished;
}

/** @param env settings of a separate service; without it, all test files of the worker share one service. */
export async function startDashboard(env?: Record<string, string>): Promise<Dashboard> {
  await buildIfStale();
  const [{ service, database, end }, browser] = await Promise.all([serve(env), sharedBrowser()]);
  async function open(options: OpenOptions = {}): Promise<WatchedPage> {
    const watched = await openPage(browser, service.url, options);
    (options.onTestFinished ?? onTestFinished)(() => watched.context.close());
    return watched;
  }
  return {
    service,
    database,
    open,
    async openAs(account, options) {
      const watched = await open(options);
      const session = JSON.stringify({ token: account.session_token, email: account.user.email });
      // Only at the first load, so that a session that has ended is not restored.
      await watched.context.addInitScript(`if (sessionStorage.getItem("seen") === null) {
        sessionStorage.setItem("seen", "1");
        sessionStorage.setItem("postrider.session", ${JSON.stringify(session)});
      }`);
      return watched;
    },
    newAccount: () => signUp(service),
    stop: end,
  };
}

interface Served {
  service: ServiceProcess;
  database: TestDatabase;
  end: () => Promise<void>;
}

async function serve(env: Record<string, string> | undefined): Promise<Served> {
  if (env === undefined) {
    const { service, database, leave } = await sharedService();
    return { service, database, end: leave };
  }
  const database = await createTestDatabase();
  const service = await startService({ storage: { databaseUrl: database.url }, env });
  const end = async (): Promise<void> => {
    await service.stop();
    await database.drop();
  };
  return { service, database, end };
}
