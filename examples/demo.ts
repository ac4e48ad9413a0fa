import { play } from "./demo/play.ts";
import { startReceiver } from "./demo/receiver.ts";
import { playStory } from "./demo/story.ts";

/*
 * npm run demo                       starts its own service, in a temporary directory
 * npm run demo -- --url URL          uses a running service, which must allow targets on this machine:
 *                                    POSTRIDER_ALLOW_HTTP_TARGETS=true POSTRIDER_ALLOWED_NETWORKS=127.0.0.0/8 npm start
 */
await play("demo", startReceiver, ({ server: receiver, ...stage }) => playStory({ ...stage, receiver }));
