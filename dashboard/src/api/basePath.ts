/**
 * The path below which the service is reached, with a slash at both ends: `/` or, behind a proxy, `/hooks/`. Read from
 * where this very script came from, so that one build serves every prefix.
 */
export const basePath: string = import.meta.env.DEV
  ? "/"
  : new URL(/* @vite-ignore */ "../", import.meta.url).pathname;

/** The address that programs use, without a slash at the end. */
export const serviceUrl: string = location.origin + basePath.slice(0, -1);
