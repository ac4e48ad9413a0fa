import { basePath } from "./basePath.ts";

/**
 * The organization whose portal this page is, read once from its address; undefined on every other page. A portal is a
 * customer's: its session is its own, and nobody who is signed in beside it is looked at.
 */
export const portalOrganization: string | undefined = location.pathname.startsWith(`${basePath}portal/`)
  ? location.pathname.slice(`${basePath}portal/`.length).split("/")[0]
  : undefined;
