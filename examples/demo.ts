import { parseArgs } from "node:util";
import { ApiClient } from "./demo/apiClient.ts";
import { startReceiver } from "./demo/receiver.ts";
import { startOwnService } from "./demo/ownService.ts";
import { playStory } from "./demo/story.ts";

/*
 * npm run demo                       starts a service of its own, in a directory it removes again
 * npm run demo -- --url URL          plays against a service that runs, which must allow targets on this machine:
 *                                    POSTRIDER_ALLOW_HTTP_TARGETS=true POSTRIDER_ALLOWED_NETWORKS=127.0.0.0/8 npm start
 */
const { values } = parseArgs({ options: { url: { type: "string" } } });
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const own = values.url === undefined ? await startOwnService(say) : undefined;
const receiver = await startReceiver();
try {
  await playStory({ api: new ApiClient(values.url ?? own!.url), receiver, say });
} catch (error) {
  say(`\nThe demo stopped: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await receiver.close();
  await own?.stop();
}
