import { play } from "./demo/play.ts";
import { startReceiver } from "./demo/receiver.ts";
import { playStory } from "./demo/story.ts";

/*
 * npm run demo                       starts a service of its own, in a directory it removes again
 * npm run demo -- --url URL          plays against a service that runs, which must allow targets on this machine:
 *                                    POSTRIDER_ALLOW_HTTP_TARGETS=true POSTRIDER_ALLOWED_NETWORKS=127.0.0.0/8 npm start
 */
await play("demo", startReceiver, ({ server: receiver, ...stage }) => playStory({ ...stage, receiver }));
