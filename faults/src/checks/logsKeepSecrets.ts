import type { Check } from "./check.ts";

/** 10. No log of a service has a key, a password or a signing secret. */
export const logsKeepSecrets: Check = (_history, { loggedSecrets }) =>
  loggedSecrets.map((what) => `the log of a service has ${what}`);
