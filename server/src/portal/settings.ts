import type pg from "pg";
import { lockOrganization } from "../accounts/organizationStore.ts";
import { differences, maskedUrl } from "../audit/differences.ts";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { type Read, unreadable } from "../http/contract/errors.ts";
import { inTransaction } from "../postgres/pool.ts";
import type { PortalSettings } from "./schemas.ts";

/** The settings of an organization that has saved none. */
export const none: PortalSettings = { name: null, logo: null, colour: null, origins: [] };

/** Reads the appearance of an organization's portal, and the origins whose pages may embed it. */
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

/** Replaces all settings by values from {@link checkSettings}. Unchanged settings are not recorded in the audit log. */
export function saveSettings(
  pool: pg.Pool,
  origin: Origin,
  checked: PortalSettings,
): Promise<PortalSettings> {
  return inTransaction(pool, async (client) => {
    const { orgId } = origin;
    const organization = await lockOrganization(client, orgId);
    const { before, after } = differences(
      names,
      audited(await readSettings(client, orgId)),
      audited(checked),
    );
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
      object: { kind: "organization", id: orgId, name: organization!.name },
      before,
      after,
    });
    return checked;
  });
}

const names = ["name", "logo", "colour", "origins"] as const;

/** The settings as the audit log shows them: the URL of a logo may contain a signature. */
function audited(settings: PortalSettings): PortalSettings {
  const { logo } = settings;
  return { ...settings, logo: logo?.startsWith("https:") === true ? maskedUrl(logo) : logo };
}

const dataUrl = /^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/;

/** Checks and normalizes settings: URLs as browsers write them, colours in lower case. The refusal names the wrong part. */
export function checkSettings(settings: PortalSettings): Read<PortalSettings> {
  const logo = settings.logo === null ? null : readLogo(settings.logo);
  if (logo !== null && "fault" in logo) return unreadable(logo.fault);
  const { colour } = settings;
  if (colour !== null && !/^#[0-9a-f]{6}$/i.test(colour)) {
    return unreadable("colour must be #rrggbb: six hexadecimal digits, such as #0b6e4f");
  }
  const origins = new Set<string>();
  for (const text of settings.origins) {
    const source = readOrigin(text);
    if (source === undefined) {
      return unreadable(
        `origins: ${JSON.stringify(text)} is not an origin such as https://app.example.com; http is allowed only for localhost`,
      );
    }
    origins.add(source);
  }
  return {
    ok: true,
    value: {
      ...settings,
      logo: logo?.url ?? null,
      colour: colour?.toLowerCase() ?? null,
      origins: [...origins],
    },
  };
}

function readLogo(logo: string): { url: string } | { fault: string } {
  if (dataUrl.test(logo)) return { url: logo };
  const url = URL.parse(logo);
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") {
    return { fault: "logo must be an https URL, or a base64 data URL of an image" };
  }
  return contentSource(url) === undefined
    ? { fault: `logo: ${JSON.stringify(url.hostname)} is not a valid host name` }
    : { url: url.href };
}

/** Reads an origin, in the form that browsers use; undefined when the text is no origin. */
function readOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  const isAllowed = url?.protocol === "https:" || (url?.protocol === "http:" && isThisMachine(url.hostname));
  return isAllowed && /^https?:\/\/[^/?#@\s]+\/?$/i.test(text) ? contentSource(url) : undefined;
}

function isThisMachine(hostname: string): boolean {
  return hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
}

/** The sources that may embed an organization's portal and provide its logo; none for an unknown organization. */
export async function readFraming(
  pool: pg.Pool,
  orgId: string,
): Promise<{ ancestors: string[]; images: string | undefined }> {
  const { origins, logo } = await readSettings(pool, orgId);
  // Checked again, because an earlier version may have stored an invalid host name.
  const sourceOf = (text: string): string | undefined => {
    const url = URL.parse(text);
    return url === null ? undefined : contentSource(url);
  };
  return {
    ancestors: origins.map(sourceOf).filter((source) => source !== undefined),
    images: logo?.startsWith("https:") === true ? sourceOf(logo) : undefined,
  };
}

/** A DNS name (RFC 1123; also with underscores, which exist in practice), an IPv4 address or an IPv6 address in brackets. */
const hostName =
  /^(?:(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?|\[[0-9a-f:.]+\])$/;

/**
 * The origin of a URL as a source for a Content-Security-Policy; undefined when its host is no valid host name. The URL
 * standard allows hosts such as `x;sandbox`, which would end the directive and begin another.
 */
export function contentSource(url: URL): string | undefined {
  return hostName.test(url.hostname) && url.hostname.length <= 253 ? url.origin : undefined;
}
