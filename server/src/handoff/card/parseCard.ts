import { isUtf8 } from "node:buffer";
import { type SecurityRequirement, securityRequirements } from "./cardSecurity.ts";
import { isPlainLine } from "../../http/contract/plainText.ts";
import { isJsonObject, type JsonObject } from "../../http/contract/json.ts";

/** The fields of a valid and usable agent card that the service needs. */
export interface AgentCard {
  name: string;
  version: string;
  /** The interface in use: the first one in the card's order with HTTP+JSON of A2A 1.0. */
  interface: AgentInterface;
  pushNotifications: boolean;
  /** URIs of the extensions that the agent supports; a message that lists one of them activates it. */
  extensions: string[];
  signatures: CardSignature[];
  /** The credentials that the agent requires: a client must satisfy one alternative. */
  security: SecurityRequirement[];
  document: JsonObject;
}

export interface AgentInterface {
  /** The interface's URL, not yet checked by the address guard. */
  url: string;
  /** The JSON path of `url` in the card, for messages about it. */
  urlPath: string;
  tenant: string | null;
}

/** A JSON Web Signature over the card (A2A 1.0, section 4.4.7). */
export interface CardSignature {
  protected: string;
  signature: string;
}

/** `problem` completes a sentence that begins with `the agent card`, and contains the path of the fault. */
export type CardReading = { ok: true; card: AgentCard } | { ok: false; problem: string };

/** Maximum nesting of a card; deeper documents would use too much stack. */
const maxDepth = 64;
const maxInterfaces = 100;
const maxExtensions = 100;
const maxSignatures = 10;
const maxTenantLength = 512;
/** Maximum length of a name and a version in UTF-16 code units; both appear in every list of targets. */
const maxShownLength = 256;

/** Extensions that the service implements; a card that requires any other extension is refused. */
const implementedExtensions: readonly string[] = [];

/**
 * Parses an agent card and chooses the interface to use (A2A 1.0, sections 4.4 and 8.3). Unknown fields are ignored. Cards of
 * older versions of the protocol are refused.
 */
export function parseCard(bytes: Buffer): CardReading {
  try {
    return { ok: true, card: readCard(parseDocument(bytes)) };
  } catch (error) {
    if (error instanceof CardProblem) return { ok: false, problem: error.message };
    throw error;
  }
}

/** Thrown when a card is refused; caught in this file. */
class CardProblem extends Error {}

function parseDocument(bytes: Buffer): JsonObject {
  if (!isUtf8(bytes)) throw new CardProblem("is not UTF-8 text");
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8").replace(/^\ufeff/, ""));
  } catch {
    throw new CardProblem("is not JSON");
  }
  refuseUnstorable(value, "$", 0);
  if (!isJsonObject(value)) throw new CardProblem(`must be a JSON object, not ${nameOf(value)} (at $)`);
  return value;
}

function readCard(document: JsonObject): AgentCard {
  refuseOlderVersion(document);
  const name = requiredText(document, "name");
  if (name === "") throw new CardProblem("has an empty $.name");
  requirePlain(name, "$.name");
  requiredText(document, "description");
  const version = requiredText(document, "version");
  requirePlain(version, "$.version");
  const interfaces = requiredArray(document, "supportedInterfaces");
  const capabilities = required(document, "capabilities");
  if (!isJsonObject(capabilities)) throw wrongKind("$.capabilities", "an object", capabilities);
  for (const modes of ["defaultInputModes", "defaultOutputModes"]) {
    for (const [index, mode] of requiredArray(document, modes).entries()) {
      if (typeof mode !== "string") throw wrongKind(`$.${modes}[${index}]`, "a string", mode);
    }
  }
  for (const [index, skill] of requiredArray(document, "skills").entries()) {
    if (!isJsonObject(skill)) throw wrongKind(`$.skills[${index}]`, "an object", skill);
  }
  return {
    name,
    version,
    interface: chooseInterface(interfaces),
    pushNotifications: capabilities["pushNotifications"] === true,
    extensions: readExtensions(capabilities["extensions"]),
    signatures: readSignatures(document["signatures"]),
    security: securityRequirements(document),
    document,
  };
}

/** Refuses cards up to version 0.3, which had a single `url`: such an agent has other routes and other states. */
function refuseOlderVersion(document: JsonObject): void {
  if (document["supportedInterfaces"] !== undefined || typeof document["url"] !== "string") return;
  const said = document["protocolVersion"];
  const version = typeof said === "string" && /^[\d.]{1,20}$/.test(said) ? said : "0.3";
  throw new CardProblem(
    `is of A2A ${version} (it has $.url and no $.supportedInterfaces): the agent must offer A2A 1.0`,
  );
}

/** Chooses the first suitable entry in the card's order (section 8.3.2); entries with other bindings are not checked. */
function chooseInterface(interfaces: readonly unknown[]): AgentInterface {
  if (interfaces.length === 0) throw new CardProblem("lists no interface: $.supportedInterfaces is empty");
  if (interfaces.length > maxInterfaces) {
    throw new CardProblem(`lists more than ${maxInterfaces} interfaces in $.supportedInterfaces`);
  }
  const offered: string[] = [];
  for (const [index, entry] of interfaces.entries()) {
    const path = `$.supportedInterfaces[${index}]`;
    if (!isJsonObject(entry)) throw wrongKind(path, "an object", entry);
    const binding = textIn(entry, path, "protocolBinding");
    const version = textIn(entry, path, "protocolVersion");
    if (binding === "HTTP+JSON" && /^1\.0(\.\d{1,9})?$/.test(version)) return readInterface(entry, path);
    offered.push(`${shown(binding)} ${shown(version)}`);
  }
  throw new CardProblem(
    `offers no HTTP+JSON interface of A2A 1.0 in $.supportedInterfaces, only ${listed(offered)}`,
  );
}

function readInterface(entry: JsonObject, path: string): AgentInterface {
  const { url } = entry;
  if (typeof url !== "string" || url === "") throw wrongKind(`${path}.url`, "a URL", url);
  const tenant = entry["tenant"] ?? "";
  if (typeof tenant !== "string" || tenant.length > maxTenantLength) {
    throw wrongKind(`${path}.tenant`, `a string of at most ${maxTenantLength} characters`, tenant);
  }
  // The tenant becomes a segment of the URL's path.
  if (/^\.{1,2}$/.test(tenant)) throw new CardProblem(`has a tenant that cannot be used at ${path}.tenant`);
  return { url, urlPath: `${path}.url`, tenant: tenant === "" ? null : tenant };
}

function readExtensions(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > maxExtensions) {
    throw wrongKind("$.capabilities.extensions", `an array of at most ${maxExtensions} elements`, value);
  }
  return value.map((extension: unknown, index) => {
    const path = `$.capabilities.extensions[${index}]`;
    if (!isJsonObject(extension)) throw wrongKind(path, "an object", extension);
    const uri = textIn(extension, path, "uri");
    // Requests that activate the extension send its URI in a header.
    if (!/^[!-~]{1,2048}$/.test(uri)) throw new CardProblem(`has no URI at ${path}.uri`);
    if (extension["required"] === true && !implementedExtensions.includes(uri)) {
      throw new CardProblem(`requires the extension ${shown(uri)} (at ${path}), which is not supported`);
    }
    return uri;
  });
}

function readSignatures(value: unknown): CardSignature[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > maxSignatures) {
    throw wrongKind("$.signatures", `an array of at most ${maxSignatures} elements`, value);
  }
  return value.map((entry: unknown, index) => {
    const path = `$.signatures[${index}]`;
    if (!isJsonObject(entry)) throw wrongKind(path, "an object", entry);
    return { protected: textIn(entry, path, "protected"), signature: textIn(entry, path, "signature") };
  });
}

function required(document: JsonObject, field: string): unknown {
  const value = document[field];
  if (value === undefined || value === null) {
    throw new CardProblem(`lacks $.${field}, which A2A 1.0 requires`);
  }
  return value;
}

function requiredText(document: JsonObject, field: string): string {
  required(document, field);
  return textIn(document, "$", field);
}

function textIn(object: JsonObject, path: string, field: string): string {
  const value = object[field];
  if (typeof value !== "string") throw wrongKind(`${path}.${field}`, "a string", value);
  return value;
}

function requiredArray(document: JsonObject, field: string): readonly unknown[] {
  const value = required(document, field);
  if (!Array.isArray(value)) throw wrongKind(`$.${field}`, "an array", value);
  return value;
}

/** Refuses long texts and control characters in texts that are shown to people. */
function requirePlain(text: string, path: string): void {
  if (text.length > maxShownLength) {
    throw new CardProblem(`has more than ${maxShownLength} characters at ${path}`);
  }
  if (!isPlainLine(text)) throw new CardProblem(`has a control or bidirectional character (at ${path})`);
}

/** Refuses text that PostgreSQL cannot store: NUL and lone surrogates. */
function refuseUnstorable(value: unknown, path: string, depth: number): void {
  if (depth > maxDepth) throw new CardProblem(`is nested deeper than ${maxDepth} levels`);
  if (typeof value === "string") {
    if (value.includes("\0")) throw new CardProblem(`has a NUL character (at ${path})`);
    if (!value.isWellFormed()) throw new CardProblem(`has a lone surrogate (at ${path})`);
  } else if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) refuseUnstorable(element, `${path}[${index}]`, depth + 1);
  } else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      refuseUnstorable(name, path, depth + 1);
      refuseUnstorable(member, depth < 6 ? `${path}.${shown(name)}` : path, depth + 1);
    }
  }
}

function wrongKind(path: string, expected: string, value: unknown): CardProblem {
  return new CardProblem(
    value === undefined ? `lacks ${path}` : `has ${nameOf(value)} at ${path} instead of ${expected}`,
  );
}

function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === "") return "an empty string";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Formats a part of the card for a message: limited length, without characters that would break a log line. */
function shown(text: string): string {
  const printable = text.replace(/[^\u0020-\u007e]/g, "?");
  return printable.length > 100 ? `${printable.slice(0, 100)}…` : printable;
}

function listed(offered: readonly string[]): string {
  const distinct = [...new Set(offered)];
  return distinct.length > 5 ? `${distinct.slice(0, 5).join(", ")} and others` : distinct.join(", ");
}
