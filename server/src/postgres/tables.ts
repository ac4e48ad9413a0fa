import { Kysely, PostgresDialect, type RawBuilder, sql } from "kysely";
import type pg from "pg";
import { columnsOf } from "./hot/callFunction.ts";
import type { FunctionName, ParametersOf, RowOf } from "./hot/functionCall.ts";
import type { KindNumber, TargetKind } from "./kinds.ts";
import { repeatDeadlocked } from "./pool.ts";
import { functions } from "./sql/functions.generated.ts";

/*
 * The tables as Kysely sees them, for the CRUD around the hot path, with only the columns that its queries use. Ids are 32
 * hex characters; times are Unix seconds in the control plane and Unix milliseconds in the data plane, as the migrations say.
 */

export type Queries = Kysely<Tables>;

/** A query builder over the pool; it owns no connection of its own. */
export function createQueries(pool: pg.Pool): Queries {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}

/**
 * Runs `work` in one transaction of the query builder and returns its result; rolls back when it throws. `work` may run more
 * than once: see {@link repeatDeadlocked}.
 */
export function inTransactionOf<T>(queries: Queries, work: (transaction: Queries) => Promise<T>): Promise<T> {
  return repeatDeadlocked(() => queries.transaction().execute(work));
}

export const billingStatuses = ["pending", "active", "grace", "suspended", "exempt"] as const;
export type BillingStatus = (typeof billingStatuses)[number];

export interface Tables {
  organizations: {
    id: string;
    name: string;
    slug: string;
    billing_status: BillingStatus;
    /** Unix seconds, like the other times; null outside of a grace period. */
    billing_grace_ends_at: number | null;
    /** Whether admins may read signing secrets after their creation. */
    secrets_can_be_revealed: boolean;
    created_at: number;
  };
  api_keys: {
    id: string;
    org_id: string;
    name: string;
    prefix: string;
    created_at: number;
    last_used_at: number | null;
    customer_uid: string | null;
  };
  targets: TargetRow;
  customers: {
    id: string;
    org_id: string;
    uid: string;
    name: string;
    metadata: Record<string, unknown>;
    created_at: number;
    updated_at: number;
  };
  events: {
    bucket: number;
    kind: KindNumber;
    target_id: string;
    id: string;
    org_id: string;
    source_event_id: string | null;
    event_type: string | null;
  };
  publications: {
    bucket: number;
    id: string;
    org_id: string;
    event_type: string | null;
    correlation_id: string | null;
    ordering_key: string | null;
    payload: Buffer;
    event_ids: string[];
  };
  audit_log: AuditRow;
  agent_cards: AgentCardRow;
  handoffs: HandoffRow;
}

export interface TargetRow {
  id: string;
  org_id: string;
  kind: TargetKind;
  /** The organization's own id for the target, the target's customer, and metadata. */
  uid: string | null;
  customer_uid: string | null;
  metadata: Record<string, unknown> | null;
  /** JSON. */
  filter: string | null;
  /** Digest of the filter's text. */
  filter_digest: string | null;
  name: string;
  description: string;
  enabled: boolean;
  disabled_reason: string | null;
  url: string | null;
  event_types: string[];
  max_payload_bytes: number;
  max_retries: number;
  retry_interval_seconds: number;
  /** Maximum number of claims of a message in the mailbox; null for no limit. */
  max_claims: number | null;
  /** Maximum number of attempts per second, and of attempts at once after a pause; null for the service's own pace. */
  rate_limit_per_second: number | null;
  rate_limit_burst: number | null;
  /** Maximum number of requests in flight at the same time. */
  max_concurrency: number | null;
  /** The target's own headers, as `targets/headers.ts` writes them, and the version since which it has them. */
  headers: string | null;
  header_set: number | null;
  secret: Buffer | null;
  previous_secret: Buffer | null;
  /** Unix seconds at which the previous secret expires. */
  previous_secret_until: number | null;
  failing_since: number | null;
  version: number;
  created_at: number;
  updated_at: number;
}

export interface AuditRow {
  id: string;
  org_id: string | null;
  action: string;
  actor_kind: "user" | "key" | "customer" | "operator" | "service" | "unknown";
  actor_id: string | null;
  actor_name: string | null;
  object_kind: string;
  object_id: string | null;
  object_name: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  client_address: string | null;
  user_agent: string | null;
  request_id: string | null;
}

export interface AgentCardRow {
  target_id: string;
  card_url: string;
  card: unknown;
  etag: string | null;
  tenant: string | null;
  extensions: string[];
  push_notifications: boolean;
  signature: "verified" | "unverified" | "invalid" | "none";
  key_set_url: string | null;
  signature_detail: string | null;
  fetched_at: number;
  refresh_at: number;
  failures: number;
  last_error: string | null;
  last_error_at: number | null;
  offered_origin: string | null;
  offered_signature: "unverified" | "invalid" | "none" | null;
  bearer: Buffer | null;
  bearer_origin: string | null;
  auth_header: string | null;
  result_target_id: string | null;
}

export interface HandoffRow {
  bucket: number;
  event_id: string;
  org_id: string;
  target_id: string;
  unanswered_since: number | null;
  possible_duplicate: boolean;
  accepted_at: number | null;
  task_id: string | null;
  context_id: string | null;
  state: string | null;
  status_message: string | null;
  status_parts: string | null;
  artifacts: string | null;
  is_truncated: boolean;
  fingerprint: string | null;
  follow_error: string | null;
  result_event_id: string | null;
  outcome: "COMPLETED" | "FAILED" | "CANCELED" | "REJECTED" | "UNKNOWN" | null;
  updated_at: number;
}

/** A call of a SQL function with named parameters, for a transaction of Kysely. */
export function functionQuery<N extends FunctionName>(
  name: N,
  parameters: ParametersOf<N>,
): RawBuilder<RowOf<N>> {
  const types: Readonly<Record<string, string>> = functions[name].parameters;
  const named = Object.entries(parameters).map(
    ([parameter, value]) => sql`${sql.raw(parameter)} => ${value}::${sql.raw(types[parameter]!)}`,
  );
  return sql<RowOf<N>>`select ${sql.raw(columnsOf(name))} from ${sql.raw(name)}(${sql.join(named)})`;
}
