/**
 * The place of a table when the data plane is split into cells (`docs/scaling.md`). On one PostgreSQL all tables are in one
 * schema; a checker (`server/scripts/sqlRules`) still ensures that statements keep the places apart, so that the tables can
 * be split.
 *
 * - `cell`: the data plane. Each cell has such a table, and statements that write it use that cell alone.
 * - `reference`: small, changed by the control plane, and read by statements of the data plane; every cell has a copy beside
 *   it.
 * - `local`: only the control plane uses it.
 */
export type TablePlace = "cell" | "reference" | "local";

const cell = [
  // Items, and the records of what happens to them.
  "events",
  "publications",
  "deliveries",
  "attempts",
  "delivered_groups",
  "settlements",
  "idempotency_keys",
  "erased_digests",
  "messages",
  "closed_messages",
  "message_claims",
  "message_interventions",
  "mailbox_activity",
  "mailbox_minutes",
  "handoffs",
  "handoff_polls",
  "tryout_requests",
  // State of a target that nodes share.
  "open_circuits",
  "target_paces",
  "target_shares",
  "target_header_sets",
  // Tables that are written or read in one transaction with items.
  "target_activity",
  "published_activity",
  "activity_steps",
  "usage_records",
  "usage_totals",
  "operational_events",
  "notification_paces",
  "replays",
  "replay_parts",
  "replay_pending",
  "erasures",
] as const;

// A table comes after the tables that it refers to.
const reference = [
  "organizations",
  "customers",
  "api_keys",
  "targets",
  "agent_cards",
  // Statements that end items check whether there is a subscriber.
  "notification_targets",
] as const;

const local = [
  "users",
  "sessions",
  "password_resets",
  "invitations",
  "audit_log",
  "rate_limits",
  "event_types",
  "portal_links",
  "portal_sessions",
  "portal_settings",
  "stream_watches",
  "billing_state_changes",
  "billing_accounts",
  "billing_events",
  "meter_counters",
  "meter_batches",
  "held_invoices",
  "processes",
  "schema_changes",
] as const;

/** The tables that each cell has. */
export const tablesOfCells: readonly string[] = cell;

/** The place of each table; partitions have the place of their parent. */
export const tablePlaces: ReadonlyMap<string, TablePlace> = new Map<string, TablePlace>([
  ...cell.map((name) => [name, "cell"] as const),
  ...reference.map((name) => [name, "reference"] as const),
  ...local.map((name) => [name, "local"] as const),
]);
