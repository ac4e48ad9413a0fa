import { play } from "./demo/play.ts";
import { startEndpoints } from "./saas/endpoints.ts";
import { playSaas } from "./saas/story.ts";

/*
 * A small SaaS with 50 customers and 99 webhooks, which notifies each customer of an event with one call.
 *
 * npm run example:saas               starts its own service, in a temporary directory
 * npm run example:saas -- --url URL  uses a running service, which must allow targets on this machine:
 *                                    POSTRIDER_ALLOW_HTTP_TARGETS=true POSTRIDER_ALLOWED_NETWORKS=127.0.0.0/8 npm start
 */
await play("example", startEndpoints, ({ server: endpoints, ...stage }) => playSaas({ ...stage, endpoints }));
