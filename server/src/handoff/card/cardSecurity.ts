import type { AgentCardRow } from "../../postgres/tables.ts";
import { isJsonObject, type JsonObject } from "../../http/contract/json.ts";

/** A security scheme of an agent. Only the first two kinds can be satisfied by a target's credential. */
export type SecurityScheme =
  /** A token in `Authorization: Bearer`. */
  | { kind: "bearer"; name: string; described: string }
  /** A key in a header. */
  | { kind: "header"; name: string; header: string; takesBearer: boolean; described: string }
  /** A scheme that no credential of a target satisfies. */
  | { kind: "other"; name: string; described: string };

/** One alternative of a card's requirements: a client must satisfy all of its schemes. */
export type SecurityRequirement = readonly SecurityScheme[];

/** The form of a target's credential. */
export type CredentialForm = { type: "none" } | { type: "bearer" } | { type: "api_key"; header: string };

export function formOf(stored: Pick<AgentCardRow, "bearer_origin" | "auth_header">): CredentialForm {
  if (stored.bearer_origin === null) return { type: "none" };
  return stored.auth_header === null ? { type: "bearer" } : { type: "api_key", header: stored.auth_header };
}

/**
 * Reads the security requirements of a card (A2A 1.0, sections 4.4 and 4.5); a client must satisfy one of them. Returns an empty
 * list if the card requires nothing or one alternative is empty. A requirement that cannot be parsed is ignored, because the
 * agent itself will refuse a wrong credential.
 */
export function securityRequirements(document: JsonObject): SecurityRequirement[] {
  const written = document["securityRequirements"] ?? document["security"];
  if (!Array.isArray(written)) return [];
  const schemes = isJsonObject(document["securitySchemes"]) ? document["securitySchemes"] : {};
  const alternatives = written.filter(isJsonObject).map((one) => {
    const names = isJsonObject(one["schemes"]) ? one["schemes"] : one;
    return Object.keys(names).map((name) => readScheme(name, schemes[name]));
  });
  return alternatives.some((one) => one.length === 0) ? [] : alternatives;
}

/**
 * Why the agent would refuse this credential, as a continuation of `the agent card `; undefined if an alternative is satisfied.
 */
export function unmetSecurity(
  requirements: readonly SecurityRequirement[],
  form: CredentialForm,
): string | undefined {
  if (requirements.length === 0) return undefined;
  if (requirements.some((one) => one.every((scheme) => isMet(scheme, form)))) return undefined;
  const said = requirements
    .map((one) => one.map(({ name, described }) => `${JSON.stringify(name)} (${described})`).join(" and "))
    .join(", or ");
  return `requires ${said}, which auth of type ${form.type} does not provide${advice(requirements)}`;
}

function isMet(scheme: SecurityScheme, form: CredentialForm): boolean {
  switch (scheme.kind) {
    case "bearer":
      return form.type === "bearer";
    case "header":
      return (
        (form.type === "api_key" && form.header.toLowerCase() === scheme.header.toLowerCase()) ||
        (form.type === "bearer" && scheme.takesBearer)
      );
    case "other":
      return false;
  }
}

/** Advice for the owner: the `auth` value for the first alternative that consists of one supported scheme. */
function advice(requirements: readonly SecurityRequirement[]): string {
  const [scheme] =
    requirements.find(([one, ...others]) => others.length === 0 && one!.kind !== "other") ?? [];
  if (scheme === undefined) return "";
  return scheme.kind === "bearer"
    ? ': set auth to {"type": "bearer", "token": "…"}'
    : `: set auth to {"type": "api_key", "header": ${JSON.stringify((scheme as { header: string }).header)}, "value": "…"}`;
}

/** Reads a scheme of section 4.5 in each form that is in use: that of ProtoJSON, of OpenAPI, and of the JavaScript SDK. */
function readScheme(name: string, written: unknown): SecurityScheme {
  const [form, fields] = writtenForm(written);
  const text = (field: string): string => (typeof fields[field] === "string" ? fields[field] : "");
  switch (form) {
    case "httpauthsecurityscheme":
    case "http": {
      const scheme = text("scheme");
      return scheme.toLowerCase() === "bearer"
        ? { kind: "bearer", name, described: "an HTTP bearer token" }
        : {
            kind: "header",
            name,
            header: "Authorization",
            takesBearer: false,
            described: `HTTP ${shown(scheme)}`,
          };
    }
    case "oauth2securityscheme":
    case "oauth2":
      return { kind: "bearer", name, described: "an OAuth 2.0 token" };
    case "openidconnectsecurityscheme":
    case "openidconnect":
      return { kind: "bearer", name, described: "an OpenID Connect token" };
    case "apikeysecurityscheme":
    case "apikey": {
      const location = text("location") || text("in");
      const header = text("name");
      return location === "header" && header !== ""
        ? {
            kind: "header",
            name,
            header,
            takesBearer: header.toLowerCase() === "authorization",
            described: `an API key in the header ${shown(header)}`,
          }
        : { kind: "other", name, described: `an API key in ${shown(location)}` };
    }
    case "mtlssecurityscheme":
    case "mutualtls":
      return { kind: "other", name, described: "mutual TLS" };
    default:
      return { kind: "other", name, described: "a scheme that the card does not describe" };
  }
}

/** Returns the scheme's kind in lower case, and its fields. */
function writtenForm(written: unknown): [form: string, fields: JsonObject] {
  if (!isJsonObject(written)) return ["", {}];
  if (typeof written["type"] === "string") return [written["type"].toLowerCase(), written];
  const leaked = written["scheme"];
  if (isJsonObject(leaked) && typeof leaked["$case"] === "string") {
    return [leaked["$case"].toLowerCase(), isJsonObject(leaked["value"]) ? leaked["value"] : {}];
  }
  const member = Object.entries(written).find(([, value]) => isJsonObject(value));
  return member === undefined ? ["", {}] : [member[0].toLowerCase(), member[1] as JsonObject];
}

const maxShownCharacters = 64;

function shown(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e]/g, "?").slice(0, maxShownCharacters);
}
