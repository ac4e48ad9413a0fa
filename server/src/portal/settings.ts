import type pg from "pg";
import { differences } from "../audit/differences.ts";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { ApiError } from "../http/contract/errors.ts";
import { inTransaction } from "../postgres/pool.ts";
import { contentSource } from "./contentSource.ts";
import type { PortalSettings } from "./schemas.ts";

/** Where nobody has set anything. */
export const none: PortalSettings = { name: null, logo: null, colour: null, origins: [] };

/** How an organization's portal looks, and whose pages may show it. */
export async function readSettings(client: pg.Pool | pg.ClientBase, orgId: string): Promise<PortalSettings> {
  const { rows } = await client.query<PortalSettings>({
    name: "read_portal_settings",
    text: `select name, logo, colour, origins
           from portal_settings
           where org_id = $1`,
    values: [orgId],
  });
  return rows[0] ?? none;
}

/** Stores them, whole. What is said again is no change. */
export function saveSettings(
  pool: pg.Pool,
  origin: Origin,
  settings: PortalSettings,
): Promise<PortalSettings> {
  const checked = {
    ...settings,
    logo: checkLogo(settings.logo),
    colour: checkColour(settings.colour),
    origins: checkOrigins(settings.origins),
  };
  return inTransaction(pool, async (client) => {
    const { orgId } = origin;
    const { rows } = await client.query<{ name: string }>({
      name: "lock_organization_of_portal",
      text: `select name
             from organizations
             where id = $1
             for no key update`,
      values: [orgId],
    });
    const { before, after } = differences(names, await readSettings(client, orgId), checked);
    if (Object.keys(after).length === 0) return checked;
    await client.query({
      name: "save_portal_settings",
      text: `insert into portal_settings (org_id, name, logo, colour, origins)
             values ($1, $2, $3, $4, $5::text[])
             on conflict (org_id) do update
             set name = excluded.name,
               logo = excluded.logo,
               colour = excluded.colour,
               origins = excluded.origins`,
      values: [orgId, checked.name, checked.logo, checked.colour, checked.origins],
    });
    await recordChange(client, origin, {
      action: "portal_settings.saved",
      object: { kind: "organization", id: orgId, name: rows[0]!.name },
      before,
      after,
    });
    return checked;
  });
}

const names = ["name", "logo", "colour", "origins"] as const;

const dataUrl = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/;

/** @throws {ApiError} 400 for what is neither an https nor a data URL of an image. */
function checkLogo(logo: string | null): string | null {
  if (logo === null || dataUrl.test(logo)) return logo;
  const url = URL.parse(logo);
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") {
    throw new ApiError(400, "logo must be an https URL, or a data URL in base64 of an image");
  }
  if (contentSource(url) === undefined)
    throw new ApiError(400, `logo: ${JSON.stringify(url.hostname)} is not a host name`);
  return url.href;
}

/** In lower case. @throws {ApiError} 400 for what has not six digits. */
function checkColour(colour: string | null): string | null {
  if (colour !== null && !/^#[0-9a-f]{6}$/i.test(colour))
    throw new ApiError(400, "colour must be #rrggbb: six hexadecimal digits, such as #0b6e4f");
  return colour?.toLowerCase() ?? null;
}

/** Each as a browser names it, once. @throws {ApiError} 400 for what is no origin. */
function checkOrigins(origins: readonly string[]): string[] {
  return [...new Set(origins.map(checkOrigin))];
}

function checkOrigin(text: string): string {
  const url = URL.parse(text);
  const isAllowed = url?.protocol === "https:" || (url?.protocol === "http:" && isThisMachine(url.hostname));
  const source = isAllowed ? contentSource(url) : undefined;
  if (source === undefined || !/^https?:\/\/[^/?#@\s]+\/?$/i.test(text)) {
    throw new ApiError(
      400,
      `origins: ${JSON.stringify(text)} is no origin such as https://app.example.com; http is for localhost alone`,
    );
  }
  return source;
}

function isThisMachine(hostname: string): boolean {
  return hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
}

/** The framing of an organization's portal; nobody's page may show that of an unknown one. */
export async function readFraming(
  pool: pg.Pool,
  orgId: string,
): Promise<{ ancestors: string[]; images: string | undefined }> {
  const { origins, logo } = await readSettings(pool, orgId);
  // Checked again: what an earlier version stored may be no host name.
  const sourceOf = (text: string): string | undefined => {
    const url = URL.parse(text);
    return url === null ? undefined : contentSource(url);
  };
  return {
    ancestors: origins.map(sourceOf).filter((source) => source !== undefined),
    images: logo?.startsWith("https:") === true ? sourceOf(logo) : undefined,
  };
}
