import { type TargetKind } from "../postgres/kinds.ts";
import type { Origin } from "../audit/origin.ts";
import type { Config } from "../config/config.ts";
import { newTargetId } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import type { Changes } from "../items/changes.ts";
import type { SecretBox } from "../items/secretBox.ts";
import { newSigningSecret, parseSigningSecret } from "../items/signature.ts";
import { ApiError } from "../http/contract/errors.ts";
import type { ParsedNetworks } from "../outbound/addressGuard.ts";
import { checkTargetUrl } from "../outbound/targetUrl.ts";
import { filterChanges } from "./filter.ts";
import type { UpgradeGate } from "../items/upgradeGate.ts";
import { checkCatalogued, checkEventTypes } from "./eventTypes.ts";
import { sealHeaders } from "./headers.ts";
import { type HandoffAuth, type HandoffTargets, handoffTargets } from "./handoffTargets.ts";
import { checkMetadata } from "./metadata.ts";
import { rateChanges } from "./limits.ts";
import type { NewEndpoint, NewTarget } from "./schemas.ts";
import { sealSigningSecret } from "../items/signingSecret.ts";
import { isTryoutUrl, refuseTryoutUrl } from "../tryout/tryoutUrl.ts";
import { insertTarget, type StoredTarget } from "./store.ts";
import { nameFault, valueFault } from "./headerRules.ts";

/** What targets and legacy endpoints need from the process. */
export interface TargetDeps {
  config: Pick<Config, "allowHttpTargets" | "maxBodyBytes">;
  queries: Queries;
  box: SecretBox;
  /** Networks exempt from the address guard. */
  networks: ParsedNetworks;
  /** The part of a2a targets that is not a target's: cards and bearers. */
  handoffs?: { targets: HandoffTargets };
  changes: Changes;
  /** Open once every process heeds filters. */
  filterGate: UpgradeGate;
  nowMs: () => number;
  randomBytes: (size: number) => Buffer;
  /** Tells the local dispatcher that something may have become due. */
  onDue: () => void;
}

/** A target just made, and the secret that is shown this once when its kind has one. */
export interface CreatedTarget {
  target: StoredTarget;
  secret?: string;
}

/** Makes a target of any kind. @throws {ApiError} 400 that names the field, 409 when there are too many. */
export async function createTarget(
  deps: TargetDeps,
  origin: Origin,
  input: NewTarget,
): Promise<CreatedTarget> {
  refuseForeign(input);
  checkMetadata(input.metadata);
  const filter = await filterChanges(deps, input.filter);
  switch (input.kind) {
    case "webhook":
      if (input.url === undefined) throw new ApiError(400, "url is required for a webhook target");
      await checkCatalogued(deps.queries, origin.orgId, input.event_types);
      return createWebhook(deps, origin, { ...input, url: input.url }, filter);
    case "mailbox":
      return {
        target: await insertTarget(deps.queries, origin, {
          ...newRow(deps, origin.orgId, "mailbox", input),
          ...filter,
          max_claims: input.max_claims ?? null,
          url: null,
        }),
      };
    case "a2a":
      return createAgent(deps, origin, input, filter);
    default:
      throw new ApiError(400, "kind must be webhook, mailbox or a2a");
  }
}

/** What an organization calls a target, and notes about it. */
type Names = "uid" | "customer_uid" | "metadata";

type FilterColumns = Awaited<ReturnType<typeof filterChanges>>;

/** What every kind that is delivered to has. */
export const ofDelivery = [
  "max_retries",
  "retry_interval_seconds",
  "rate_limit_per_second",
  "rate_limit_burst",
  "max_concurrency",
] as const;

/** What a target of one kind takes at its creation, beside what all do. */
const ofKind: Record<TargetKind, readonly (keyof NewTarget)[]> = {
  webhook: ["url", "event_types", "headers", "secret", ...ofDelivery],
  mailbox: ["max_claims"],
  a2a: ["agent_card_url", "auth", "confirm_origin", "result_target_id", ...ofDelivery],
};

/** @throws {ApiError} 400 for a field of another kind, which would otherwise be dropped in silence. */
function refuseForeign(input: NewTarget): void {
  const own = Object.hasOwn(ofKind, input.kind) ? ofKind[input.kind as TargetKind] : undefined;
  const foreign = Object.values(ofKind)
    .flat()
    .find((field) => input[field] !== undefined && own?.includes(field) === false);
  if (foreign !== undefined) throw new ApiError(400, `${foreign} does not apply to a ${input.kind} target`);
}

/** Makes a webhook target, which is what a legacy endpoint is. @throws {ApiError} 400 when the URL is refused. */
export async function createWebhook(
  deps: TargetDeps,
  origin: Origin,
  input: NewEndpoint & Partial<Pick<NewTarget, "headers" | "secret" | Names>>,
  filter: FilterColumns = {},
): Promise<Required<CreatedTarget>> {
  checkEventTypes(input.event_types);
  await checkUrl(deps, input.url);
  const row = { ...newRow(deps, origin.orgId, "webhook", input), ...filter };
  const secret =
    input.secret === undefined ? newSigningSecret(deps.randomBytes) : importedSecret(input.secret);
  const headers = sealHeaders({ box: deps.box, targetId: row.id, present: null }, input.headers ?? {});
  const target = await insertTarget(deps.queries, origin, {
    ...row,
    headers,
    header_set: headers === null ? null : row.version,
    url: input.url,
    event_types: input.event_types ?? [],
    secret: sealSigningSecret(deps.box, row.id, secret),
  });
  return { target, secret };
}

/** @throws {ApiError} 400 when the service must not or cannot call this URL. */
export async function checkUrl(deps: TargetDeps, url: string): Promise<void> {
  if (isTryoutUrl(url)) {
    const reason = refuseTryoutUrl(url);
    if (reason !== undefined) throw new ApiError(400, `url ${reason}`);
    return;
  }
  const check = await checkTargetUrl(url, {
    allowHttp: deps.config.allowHttpTargets,
    networks: deps.networks,
  });
  if (!check.ok) throw new ApiError(400, `url ${check.reason}`);
}

async function createAgent(
  deps: TargetDeps,
  origin: Origin,
  input: NewTarget,
  filter: FilterColumns,
): Promise<CreatedTarget> {
  if (input.agent_card_url === undefined) {
    throw new ApiError(400, "agent_card_url is required for an a2a target");
  }
  const auth = readAuth(input.auth, input.confirm_origin);
  const handoff = await handoffTargets(deps).prepare({
    agentCardUrl: input.agent_card_url,
    auth,
    confirmOrigin: input.confirm_origin,
    resultTargetId: input.result_target_id ?? null,
  });
  const { orgId } = origin;
  const row = { ...newRow(deps, orgId, "a2a", input), ...filter, url: handoff.url };
  const target = await insertTarget(deps.queries, origin, row, (transaction) =>
    handoff.save(transaction, { id: row.id, orgId }),
  );
  return { target };
}

/** @throws {ApiError} 400 that names the field. */
export function readAuth(auth: NewTarget["auth"], confirmOrigin: string | undefined): HandoffAuth {
  if (confirmOrigin !== undefined && auth?.type !== "bearer" && auth?.type !== "api_key") {
    throw new ApiError(400, "confirm_origin goes with auth of type bearer or api_key");
  }
  switch (auth?.type) {
    case undefined:
    case "none":
      return { type: "none" };
    case "bearer":
      if (auth?.token === undefined)
        throw new ApiError(400, "auth.token is required when auth.type is bearer");
      return { type: "bearer", token: auth.token };
    case "api_key":
      return readApiKey(auth);
    default:
      throw new ApiError(400, "auth.type must be bearer, api_key or none");
  }
}

function readApiKey({ header, value }: NonNullable<NewTarget["auth"]>): HandoffAuth {
  if (header === undefined) throw new ApiError(400, "auth.header is required when auth.type is api_key");
  if (value === undefined) throw new ApiError(400, "auth.value is required when auth.type is api_key");
  const fault = nameFault(header) ?? (ownHeaders.has(header.toLowerCase()) ? "is reserved" : undefined);
  if (fault !== undefined) throw new ApiError(400, `auth.header ${fault}`);
  const valueProblem = valueFault(value);
  if (valueProblem !== undefined) throw new ApiError(400, `auth.value ${valueProblem}`);
  return { type: "api_key", header, value };
}

/** What every request to an agent carries. */
const ownHeaders = new Set(["accept", "a2a-version", "a2a-extensions"]);

/** @throws {ApiError} 400 when it is no signing secret. */
export function importedSecret(secret: string): string {
  try {
    parseSigningSecret(secret);
  } catch (error) {
    throw new ApiError(400, `secret is none: ${(error as Error).message}`);
  }
  return secret;
}

/** What every kind has. The schedule unless told otherwise: 8 retries, after 30 s, 90 s, 270 s and so on. */
function newRow(
  deps: TargetDeps,
  orgId: string,
  kind: TargetKind,
  input: Omit<NewTarget, "kind" | "secret">,
) {
  const nowMs = deps.nowMs();
  const nowSeconds = Math.floor(nowMs / 1000);
  return {
    id: newTargetId(orgId, nowMs),
    org_id: orgId,
    kind,
    uid: input.uid ?? null,
    customer_uid: input.customer_uid ?? null,
    metadata: input.metadata ?? null,
    name: input.name,
    description: input.description ?? "",
    enabled: true,
    event_types: [],
    max_payload_bytes: input.max_payload_bytes ?? deps.config.maxBodyBytes,
    max_retries: input.max_retries ?? 8,
    retry_interval_seconds: input.retry_interval_seconds ?? 30,
    ...rateChanges(input, null),
    max_concurrency: input.max_concurrency ?? null,
    version: 1,
    created_at: nowSeconds,
    updated_at: nowSeconds,
  };
}
