/**
 * The path below which the service is reached, with a slash at both ends: `/` or, behind a proxy, `/hooks/`. Derived from
 * this script's own URL, so that one build works under every prefix.
 */
export const basePath: string = import.meta.env.DEV
  ? "/"
  : new URL(/* @vite-ignore */ "../", import.meta.url).pathname;

/** The service's base URL for programs, without a slash at the end. */
export const serviceUrl: string = location.origin + basePath.slice(0, -1);
