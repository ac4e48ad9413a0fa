import { play } from "./demo/play.ts";
import { startEndpoints } from "./saas/endpoints.ts";
import { playSaas } from "./saas/story.ts";

/*
 * A small SaaS with 50 customers and 99 webhooks, which tells each customer of what happens with one call.
 *
 * npm run example:saas               starts a service of its own, in a directory it removes again
 * npm run example:saas -- --url URL  plays against a service that runs, which must allow targets on this machine:
 *                                    POSTRIDER_ALLOW_HTTP_TARGETS=true POSTRIDER_ALLOWED_NETWORKS=127.0.0.0/8 npm start
 */
await play("example", startEndpoints, ({ server: endpoints, ...stage }) => playSaas({ ...stage, endpoints }));
