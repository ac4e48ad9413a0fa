import { randomBytes } from "node:crypto";
import type pg from "pg";
import { readEmail } from "../accounts/emailAddress.ts";
import { readName } from "../accounts/schemas.ts";
import type { OperatorDeps } from "../accounts/changePassword.ts";
import { provisionOrganization } from "../accounts/provision.ts";
import { orRefused } from "../http/contract/errors.ts";
import { type BillingStatus, billingStatuses } from "../postgres/tables.ts";
import { CommandError, UsageError } from "../runtime/commandError.ts";
import { readWords } from "../runtime/readWords.ts";
import { setStatus } from "./changeStatus.ts";
import { settleByOperator } from "./settleByOperator.ts";
import { describeOrganization, findOrganizationId, listOrganizations } from "./organizationReport.ts";
import type { Parts } from "../items/parts.ts";

export type OrgCommandDeps = OperatorDeps & Pick<Parts, "cells">;

/** A parsed command; calling it runs it. */
export type OrgCommand = (deps: OrgCommandDeps) => Promise<void>;

/**
 * Reads the operator's command line for organizations: `args` are the arguments after `postrider org`. Results are JSON, with
 * `--json` one document a line.
 * @throws {UsageError} for a wrong command; the command itself throws {CommandError}.
 */
export function readOrgCommand(args: string[]): OrgCommand {
  const [command, ...rest] = args;
  if (command === undefined) throw new UsageError("name a command after postrider org");
  const read = readers.get(command);
  if (read === undefined) throw new UsageError(`there is no command "org ${command}"`);
  return read(rest);
}

/** Readers of the commands, by the word after `org`. */
const readers = new Map<string, (args: string[]) => OrgCommand>([
  ["create", create],
  ["list", list],
  ["show", show],
  ["set-state", setState],
  ["settle-batch", settle],
]);

function create(args: string[]): OrgCommand {
  const { isJson, words, flags, text } = parse(args, ["exempt"], ["<name>"], ["state", "email"]);
  const isExempt = flags.has("exempt");
  const state = text("state");
  if (isExempt && state !== undefined) throw new UsageError("--exempt and --state exclude each other");
  const status = isExempt ? "exempt" : parseStatus(state ?? "active");
  if (status === "grace") throw new UsageError("a new organization cannot have the state grace");
  const email = text("email");
  const readable = readName(words[0]!);
  if (!readable.ok) throw new CommandError(readable.message, "usage");
  const address = email === undefined ? undefined : readEmail(email);
  if (address?.ok === false) throw new CommandError(address.message, "usage");
  return async (deps) => {
    const owner = address && {
      address: address.value,
      password: randomBytes(18).toString("base64url"),
    };
    const input = { name: readable.value, billingStatus: status, owner, operator: deps.operator };
    const created = await provisionOrganization(deps, input);
    const { organization, apiKey } = orRefused(created, "created", {
      email_taken: () => new CommandError("the email already has an account", "conflict"),
      overloaded: () => new CommandError("too many passwords wait to be hashed: try again", "failed"),
    });
    audit(deps, "org create", { org_id: organization.id, to: status });
    // The key and the password are shown only here.
    showResult(
      deps,
      { ...organization, api_key: apiKey, ...(owner && { owner: { email, password: owner.password } }) },
      isJson,
    );
  };
}

function list(args: string[]): OrgCommand {
  const state = parse(args, [], [], ["state"]).text("state");
  const status = state === undefined ? undefined : parseStatus(state);
  return async (deps) => {
    for await (const organization of listOrganizations(deps.pool, status, secondsOf(deps))) {
      deps.print(JSON.stringify(organization));
    }
  };
}

function show(args: string[]): OrgCommand {
  const { isJson, words } = parse(args, [], ["<id or slug>"]);
  const organization = words[0]!;
  return async (deps) => {
    const orgId = await requireOrganization(deps.pool, organization);
    const report = await describeOrganization(deps.cells.ofOrg(orgId).pool, orgId, secondsOf(deps));
    if (report === undefined) throw noOrganization(organization);
    showResult(deps, report, isJson);
  };
}

function setState(args: string[]): OrgCommand {
  const { isJson, words, text } = parse(args, [], ["<id or slug>", "<state>"], ["reason"]);
  const [organization, state] = words as [string, string];
  const status = parseStatus(state);
  const reason = text("reason");
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
    showResult(deps, { id: orgId, ...change }, isJson);
  };
}

function settle(args: string[]): OrgCommand {
  const { isJson, words } = parse(args, [], ["<identifier>", "<exported|resend>"]);
  const [identifier, outcome] = words as [string, string];
  if (outcome !== "exported" && outcome !== "resend") {
    throw new UsageError(`the outcome of a batch must be exported or resend, not "${outcome}"`);
  }
  return async (deps) => {
    const nowSeconds = secondsOf(deps);
    const by = { identifier, outcome, operator: deps.operator, nowSeconds } as const;
    orRefused(await settleByOperator(deps.pool, by), "settled", {
      not_found: () => new CommandError(`there is no unsettled batch ${identifier}`, "notFound"),
      another_open: () =>
        new CommandError(
          "another batch of the same customer is in progress: try again when it is settled",
          "failed",
        ),
    });
    audit(deps, "org settle-batch", { identifier, outcome });
    showResult(deps, { identifier, outcome }, isJson);
  };
}

/** Returns the id of an organization, found by id or slug. @throws {CommandError} when there is none. */
async function requireOrganization(pool: pg.Pool, idOrSlug: string): Promise<string> {
  const orgId = await findOrganizationId(pool, idOrSlug);
  if (orgId === undefined) throw noOrganization(idOrSlug);
  return orgId;
}

function noOrganization(idOrSlug: string): CommandError {
  return new CommandError(`there is no organization ${idOrSlug}`, "notFound");
}

/** Reads a command's arguments as {@link readWords} does. @throws {UsageError} for wrong arguments. */
function parse(...given: Parameters<typeof readWords>): ReturnType<typeof readWords> {
  try {
    return readWords(...given);
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function parseStatus(text: string): BillingStatus {
  const status = billingStatuses.find((candidate) => candidate === text);
  if (status === undefined) throw new UsageError(`"${text}" is not a state`);
  return status;
}

function audit(deps: OrgCommandDeps, action: string, fields: object): void {
  const time = new Date(deps.nowMs()).toISOString();
  deps.audit(JSON.stringify({ audit: action, time, operator: deps.operator, ...fields }));
}

function showResult(deps: OrgCommandDeps, value: object, isJson: boolean): void {
  deps.print(isJson ? JSON.stringify(value) : JSON.stringify(value, null, 2));
}

function secondsOf(deps: OrgCommandDeps): number {
  return Math.floor(deps.nowMs() / 1000);
}
