import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import type pg from "pg";
import { readEmail } from "../accounts/emailAddress.ts";
import { readName } from "../accounts/schemas.ts";
import type { OperatorDeps } from "../accounts/changePassword.ts";
import { provisionOrganization } from "../accounts/provision.ts";
import { orRefused } from "../http/contract/errors.ts";
import { type BillingStatus, billingStatuses } from "../postgres/tables.ts";
import { CommandError, UsageError } from "../runtime/commandError.ts";
import { setStatus } from "./changeStatus.ts";
import { settleByOperator } from "./settleByOperator.ts";
import { describeOrganization, findOrganizationId, listOrganizations } from "./organizationReport.ts";
import type { Parts } from "../items/parts.ts";

export type OrgCommandDeps = OperatorDeps & Pick<Parts, "cells">;

/** A command whose arguments were read; it runs when it is called. */
export type OrgCommand = (deps: OrgCommandDeps) => Promise<void>;

/**
 * Reads the operator's command line for organizations: `args` are the arguments after `postrider org`. Results are JSON, with
 * `--json` one document a line.
 * @throws {UsageError} for a wrong command; the command itself throws {CommandError}.
 */
export function readOrgCommand(args: string[]): OrgCommand {
  const [command, ...rest] = args;
  switch (command) {
    case "create":
      return create(rest);
    case "list":
      return list(rest);
    case "show":
      return show(rest);
    case "set-state":
      return setState(rest);
    case "settle-batch":
      return settle(rest);
    case undefined:
      throw new UsageError("say what to do with organizations");
    default:
      throw new UsageError(`there is no command "org ${command}"`);
  }
}

function create(args: string[]): OrgCommand {
  const { values, positionals } = parse(args, {
    exempt: { type: "boolean" },
    state: { type: "string" },
    email: { type: "string" },
  });
  const [name] = expectWords(positionals, ["name"]);
  if (values["exempt"] === true && values["state"] !== undefined) {
    throw new UsageError("--exempt and --state exclude each other");
  }
  const status = values["exempt"] === true ? "exempt" : parseStatus(values["state"] ?? "active");
  if (status === "grace") throw new UsageError("an organization does not begin in grace");
  const email = values["email"] as string | undefined;
  const readable = readName(name);
  if (!readable.ok) throw new CommandError(readable.message, "usage");
  const address = email === undefined ? undefined : readEmail(email);
  if (address?.ok === false) throw new CommandError(address.message, "usage");
  return async (deps) => {
    const owner =
      email === undefined ? undefined : { email, password: randomBytes(18).toString("base64url") };
    const input = { name: readable.value, billingStatus: status, owner, operator: deps.operator };
    const created = await provisionOrganization(deps, input);
    const { organization, apiKey } = orRefused(created, "created", {
      invalid: ({ message }) => new CommandError(message, "usage"),
      email_taken: () => new CommandError("the email has an account already", "conflict"),
      overloaded: () => new CommandError("too many passwords wait to be hashed: try again", "failed"),
    });
    audit(deps, "org create", { org_id: organization.id, to: status });
    // The key and the password are shown here and nowhere else.
    showResult(deps, { ...organization, api_key: apiKey, ...(owner && { owner }) }, values);
  };
}

function list(args: string[]): OrgCommand {
  const { values, positionals } = parse(args, { state: { type: "string" } });
  expectWords(positionals, []);
  const status = values["state"] === undefined ? undefined : parseStatus(values["state"]);
  return async (deps) => {
    for await (const organization of listOrganizations(deps.pool, status, secondsOf(deps))) {
      deps.print(JSON.stringify(organization));
    }
  };
}

function show(args: string[]): OrgCommand {
  const { values, positionals } = parse(args, {});
  const [organization] = expectWords(positionals, ["id or slug"]);
  return async (deps) => {
    const orgId = await requireOrganization(deps.pool, organization);
    const report = await describeOrganization(deps.cells.ofOrg(orgId).pool, orgId, secondsOf(deps));
    if (report === undefined) throw noOrganization(organization);
    showResult(deps, report, values);
  };
}

function setState(args: string[]): OrgCommand {
  const { values, positionals } = parse(args, { reason: { type: "string" } });
  const [organization, state] = expectWords(positionals, ["id or slug", "state"]);
  const status = parseStatus(state);
  const reason = values["reason"] as string | undefined;
  return async (deps) => {
    const orgId = await requireOrganization(deps.pool, organization);
    const cause = `operator ${deps.operator}${reason === undefined ? "" : `: ${reason}`}`;
    const change = await setStatus(deps.cells.ofOrg(orgId).pool, {
      orgId,
      status,
      cause,
      actor: { kind: "operator", name: deps.operator },
      nowSeconds: secondsOf(deps),
    });
    if (change === undefined) throw noOrganization(organization);
    audit(deps, "org set-state", { org_id: orgId, ...change, ...(reason !== undefined && { reason }) });
    showResult(deps, { id: orgId, ...change }, values);
  };
}

function settle(args: string[]): OrgCommand {
  const { values, positionals } = parse(args, {});
  const [identifier, outcome] = expectWords(positionals, ["identifier", "exported|resend"]);
  if (outcome !== "exported" && outcome !== "resend") {
    throw new UsageError(`a batch is settled as exported or resend, not "${outcome}"`);
  }
  return async (deps) => {
    const nowSeconds = secondsOf(deps);
    const by = { identifier, outcome, operator: deps.operator, nowSeconds } as const;
    orRefused(await settleByOperator(deps.pool, by), "settled", {
      not_found: () => new CommandError(`there is no unsettled batch ${identifier}`, "notFound"),
      another_open: () =>
        new CommandError(
          "another batch of the same customer is under way: try again when it is settled",
          "failed",
        ),
    });
    audit(deps, "org settle-batch", { identifier, outcome });
    showResult(deps, { identifier, outcome }, values);
  };
}

/** The id of an organization, by id or slug. @throws {CommandError} when there is none. */
async function requireOrganization(pool: pg.Pool, idOrSlug: string): Promise<string> {
  const orgId = await findOrganizationId(pool, idOrSlug);
  if (orgId === undefined) throw noOrganization(idOrSlug);
  return orgId;
}

function noOrganization(idOrSlug: string): CommandError {
  return new CommandError(`there is no organization ${idOrSlug}`, "notFound");
}

type Options = Record<string, { type: "string" | "boolean" }>;
type Values = Record<string, string | boolean | undefined>;

/** Reads flags and words; each command takes `--json`. @throws {UsageError} for an unknown flag. */
function parse(args: string[], options: Options): { values: Values; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({
      args,
      options: { ...options, json: { type: "boolean" } },
      allowPositionals: true,
    });
    return { values, positionals };
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

/** The positional arguments, one for each name. @throws {UsageError} when one is missing or too many. */
function expectWords<const N extends readonly string[]>(
  words: string[],
  names: N,
): { [K in keyof N]: string } {
  const missing = names[words.length];
  if (missing !== undefined) throw new UsageError(`<${missing}> is missing`);
  if (words.length > names.length) throw new UsageError(`unexpected argument "${words[names.length]}"`);
  return words as unknown as { [K in keyof N]: string };
}

function parseStatus(text: string | boolean): BillingStatus {
  const status = billingStatuses.find((candidate) => candidate === text);
  if (status === undefined) throw new UsageError(`"${text}" is not a state`);
  return status;
}

function audit(deps: OrgCommandDeps, action: string, fields: object): void {
  const time = new Date(deps.nowMs()).toISOString();
  deps.audit(JSON.stringify({ audit: action, time, operator: deps.operator, ...fields }));
}

function showResult(deps: OrgCommandDeps, value: object, { json }: Values): void {
  deps.print(json === true ? JSON.stringify(value) : JSON.stringify(value, null, 2));
}

function secondsOf(deps: OrgCommandDeps): number {
  return Math.floor(deps.nowMs() / 1000);
}
