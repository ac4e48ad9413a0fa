import type { Check } from "./check.ts";

/** Promise 10: the log of a service contains no API key, session token, password or signing secret. */
export const logsKeepSecrets: Check = (_history, { loggedSecrets }) =>
  loggedSecrets.map((what) => `the log of a service has ${what}`);
