/** The version that the private parts below were last looked up in. */
export const checkedVersions = { undici: "8.12.4" } as const;

/**
 * Everything of undici that the pool leans on and its documentation does not promise; privateParts.test.ts tries each.
 * They are habits rather than names: no private name of undici is touched.
 */
export const privateParts = [
  "a request that is dispatched inside onResponseEnd goes out in the next turn of the event loop, without a look at whether its idle socket was closed",
  "a client keeps the URL object that it was made with, and asks it for its origin with each request",
  "a client that is destroyed fails its request with UND_ERR_DESTROYED, and one that breaks emits an error event",
] as const;
