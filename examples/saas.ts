import { parseArgs } from "node:util";
import { ApiClient } from "./demo/apiClient.ts";
import { startOwnService } from "./demo/ownService.ts";
import { startEndpoints } from "./saas/endpoints.ts";
import { playSaas } from "./saas/story.ts";

/*
 * A small SaaS with 50 customers and 99 webhooks, which tells each customer of what happens with one call.
 *
 * npm run example:saas               starts a service of its own, in a directory it removes again
 * npm run example:saas -- --url URL  plays against a service that runs, which must allow targets on this machine:
 *                                    POSTRIDER_ALLOW_HTTP_TARGETS=true POSTRIDER_ALLOWED_NETWORKS=127.0.0.0/8 npm start
 */
const { values } = parseArgs({ options: { url: { type: "string" } } });
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const own = values.url === undefined ? await startOwnService(say) : undefined;
const endpoints = await startEndpoints();
try {
  await playSaas({ api: new ApiClient(values.url ?? own!.url), endpoints, say });
} catch (error) {
  say(`\nThe example stopped: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await endpoints.close();
  await own?.stop();
}
