import { basePath } from "./basePath.ts";

/**
 * The organization whose customer portal this page is, read once from the address; undefined on every other page. A portal
 * has a session of its own: the session of a user who is signed in in the same browser is ignored.
 */
export const portalOrganization: string | undefined = location.pathname.startsWith(`${basePath}portal/`)
  ? location.pathname.slice(`${basePath}portal/`.length).split("/")[0]
  : undefined;
