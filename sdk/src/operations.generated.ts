// Generated from the OpenAPI document by `npm run generated`; change the routes' schemas instead.
import type { CallOptions, OperationRow } from "./request.ts";

export interface AcceptedItem {
  id: string;
  /** UNREAD for mailboxes */
  status: "QUEUED" | "UNREAD";
}

export interface AcceptedPublication {
  id: string;
  /** One item for each target that the publication reached */
  items: ({
    id: string;
    target_id: string;
    /** `UNREAD` for mailboxes, `QUEUED` for other targets */
    status: "QUEUED" | "UNREAD";
  })[];
}

export interface ApiKey {
  id: string;
  name: string;
  /** The first 12 characters */
  prefix: string;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  last_used_at: number | null;
  /** `send`: the key can only send items and publications. `read`: the key can only read. `consume`: the key can only use the messages of `mailbox_ids`. `customer`: the key can only use the targets, items and publications of `customer_uid`, and publish to this customer. A key without a scope is not limited. */
  scope?: "send" | "read" | "consume" | "customer";
  /** The customer of a key with the scope `customer` */
  customer_uid?: string;
  /** The mailboxes of a key with the scope `consume` */
  mailbox_ids?: string[];
}

export interface AuditEntry {
  id: string;
  /** Unix seconds */
  at: number;
  /** `organization.created` (by signup, or by an operator), `organization.renamed`, `organization.revealing_changed` (whether admins may reveal signing secrets), `session.started` (a login), `session.refused` (a login to an account with a wrong password), `session.ended` (a logout), `sessions.ended` (all sessions of a user, or of all users of the organization), `password.changed` (by the user), `password.change_refused` (the present password was wrong), `password.reset` (by an operator, or by the user with a mailed link), `password.reset_requested` (somebody asked for a link by mail), `key.created`, `key.deleted`, `member.joined` (accepted an invitation), `member.role_changed`, `member.removed`, `invitation.created`, `invitation.revoked`, `customer.created`, `customer.updated`, `customer.deleted` (with its targets), `event_type.created`, `event_type.updated`, `event_type.deleted`, `portal_link.created` (for a customer), `portal_session.started` (somebody opened a customer's link), `portal_session.ended` (the holder of the session signed out), `portal_sessions.ended` (all sessions of a customer, and its unopened links), `portal_settings.saved` (the portal's appearance, and the sites that may embed it), `target.created`, `target.updated`, `target.deleted`, `target.disabled` (by the service, with the reason), `target.secret_rotated`, `target.previous_secret_deleted`, `target.secret_revealed` (an admin read the signing secret), `target.card_replaced` (an agent's card was read again and is in use), `notification_target.saved` (a target receives operational events), `notification_target.removed`, `billing.state_changed`, `billing.batch_settled` (by an operator) */
  action: string;
  actor: {
    kind: "user" | "key" | "customer" | "operator" | "service" | "unknown";
    id: string | null;
    /** The name at the time of the change: a user's email, a key's name, a customer's name or uid, an operator's login name, or the reason why the service made the change */
    name: string | null;
  };
  object: {
    kind: string;
    id: string | null;
    name: string | null;
  };
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  client_address: string | null;
  /** The first 200 characters of the User-Agent header */
  user_agent: string | null;
  request_id: string | null;
}

export interface Billing {
  status: "pending" | "active" | "grace" | "suspended" | "exempt";
  billing_enabled: boolean;
  /** Unix seconds */
  grace_ends_at: number | null;
  has_payment_method: boolean;
  currency: string;
  /** Price of a unit; a started unit costs the full price */
  price_cents: number;
  /** Number of items in a unit */
  unit_size: number;
}

export interface CanceledEvent {
  id: string;
  status: "CANCELED";
}

export interface Claim {
  messages: ClaimedMessage[];
  /** Messages left in the mailbox, each count up to 100 */
  remaining: {
    ready: number;
    claimed: number;
  };
}

export interface ClaimResults {
  results: {
    id: string;
    ok: boolean;
    /** The HTTP status that a request for this message alone would get */
    status: number;
    /** Unix seconds */
    claim_expires_at?: number;
    error?: string;
  }[];
}

export interface ClaimedMessage {
  id: string;
  mailbox_id: string;
  status: "UNREAD" | "CLAIMED" | "ACKNOWLEDGED" | "EXPIRED" | "DEAD";
  event_type: string | null;
  correlation_id: string | null;
  ordering_key: string | null;
  /** The id of the API key that claimed the message or acknowledged it */
  claimed_by: string | null;
  /** Unix seconds */
  claim_expires_at: number | null;
  claim_count: number;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  expires_at: number;
  /** Unix seconds */
  acknowledged_at: number | null;
  dead_reason: string | null;
  /** W3C Trace Context: the parent of the message's trace, if it is traced */
  traceparent?: string;
  /** Fencing token of this claim; a later claim of the message has another one */
  claim_token: string;
  /** The JSON document that was accepted; null once the message has expired or was erased */
  payload: unknown;
}

export interface Consent {
  /** Allows the service to send the credential to this new origin: the value of offered_origin */
  confirm_origin?: string;
  /** unverified, invalid or none: confirms the use of a card that was verified before */
  confirm_signature?: string;
}

export interface Customer {
  /** Your own id for the customer */
  uid: string;
  /** The service's id for the customer, used in the audit log */
  id: string;
  name: string;
  /** Any JSON object of up to 4 KiB; a change replaces the whole object */
  metadata: Record<string, unknown>;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  updated_at: number;
}

export interface CustomerInput {
  /** Default: empty */
  name?: string;
  /** Any JSON object of up to 4 KiB; a change replaces the whole object */
  metadata?: Record<string, unknown>;
}

export interface Deleted {
  deleted: true;
}

export interface DeletedCustomer {
  deleted: true;
  deleted_targets: number;
}

export interface DeletedEventType {
  deleted: true;
  /** Number of targets that list the event type in `event_types`. They still receive items of this type */
  naming_targets: number;
}

export interface DeliveryAttempt {
  id: string;
  event_id: string;
  /** HTTP status of the answer; 0 when there was none */
  status_code: number;
  duration_ms: number;
  error: string | null;
  /** Unix seconds */
  attempted_at: number;
  /** First KiB of the answer's body, as text */
  response_body: string | null;
  /** The target's own headers of this attempt, with secret values as ***; absent when there were none */
  request_headers?: Record<string, string>;
}

export interface DryRun {
  /** Number of events that match the filter */
  count: number;
  /** False if counting stopped early: `count` is a lower bound */
  count_is_exact: boolean;
  /** Ids of some of the events, oldest first for each target */
  sample: string[];
}

export interface EndedPortalSessions {
  ended_sessions: number;
  /** Number of links that nobody had opened */
  ended_links: number;
}

export interface Endpoint {
  id: string;
  name: string;
  url: string;
  description: string;
  /** The array of event types as JSON text; `[]` means all types */
  event_types: string;
  max_payload_bytes: number;
  max_retries: number;
  retry_interval_seconds: number;
  enabled: boolean;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  updated_at: number;
}

export interface EndpointChanges {
  name?: string;
  url?: string;
  enabled?: boolean;
  /** With enabled: true, cancels all items that wait for the target before it is enabled */
  discard_held?: boolean;
  description?: string;
  /** Which event types are delivered: each entry is a type, or a prefix as in invoice.*. Default: empty, which means all types */
  event_types?: string[];
  max_payload_bytes?: number;
  /** Attempts after the first. Default for a new target: 8 */
  max_retries?: number;
  /** Delay before the first retry; each later retry waits three times as long as the previous retry. Default for a new target: 30 */
  retry_interval_seconds?: number;
}

export interface Erasure {
  id: string;
  /** The event to erase, with its replays; null if `correlation_id` is set */
  event_id: string | null;
  /** All events with this correlation id that were accepted before the request; null if `event_id` is set */
  correlation_id: string | null;
  status: "RUNNING" | "DONE";
  /** Number of events to erase; null until they are counted: at the beginning, or while more than 10,000 are erased */
  total: number | null;
  /** Number of events erased so far */
  erased: number;
  /** The email of the user, or the name and the prefix of the API key */
  created_by: string;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  finished_at: number | null;
}

export interface Event {
  id: string;
  org_id: string;
  /** The target's id, for targets of every kind */
  endpoint_id: string;
  target_kind: "webhook" | "mailbox" | "a2a";
  event_type: string | null;
  correlation_id: string | null;
  /** The states from UNREAD on are those of mailbox messages */
  status: "QUEUED" | "RETRYING" | "DELIVERED" | "FAILED" | "FILTERED" | "CANCELED" | "UNREAD" | "CLAIMED" | "ACKNOWLEDGED" | "EXPIRED" | "DEAD";
  /** Attempts made so far */
  attempts: number;
  /** The first attempt and all retries */
  max_attempts: number;
  /** Attempts made after the first */
  retry_count: number;
  /** The target's max_retries when the item was accepted */
  max_retries: number;
  /** When the next attempt is due; null while an attempt is in progress, when none will follow, and while the target is disabled */
  next_attempt_at: number | null;
  /** The receiver's last HTTP status; 0 when it did not answer, null before the first attempt */
  last_status_code: number | null;
  /** Why the last attempt failed; null when it succeeded, and before the first attempt */
  last_error: string | null;
  /** The item waits because its target is disabled */
  held: boolean;
  is_replay: number;
  source_event_id: string | null;
  /** The webhook-id of its deliveries: the event's own id, or, for a replay, the source event's */
  webhook_id: string;
  /** The latest replay of this event or of one of its replays; null if there is none */
  replayed_by: LatestReplay | null;
  /** The replay of many events that created this event */
  replay_id: string | null;
  /** The publication that the item belongs to; null for an item sent alone, and after an erasure */
  publication_id: string | null;
  /** When the erasure of its payload and answers was requested */
  erased_at: number | null;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  updated_at: number;
}

export interface EventSummary {
  id: string;
  endpoint_id: string;
  event_type: string | null;
  /** The states from UNREAD on are those of mailbox messages */
  status: "QUEUED" | "RETRYING" | "DELIVERED" | "FAILED" | "FILTERED" | "CANCELED" | "UNREAD" | "CLAIMED" | "ACKNOWLEDGED" | "EXPIRED" | "DEAD";
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  updated_at: number;
  /** Attempts made so far */
  attempts?: number;
  /** The receiver's last HTTP status; 0 when it did not answer, null before the first attempt */
  last_status_code?: number | null;
  /** When the next attempt is due; null while an attempt is in progress, when none will follow, and while the target is disabled */
  next_attempt_at?: number | null;
  /** Duration of the last attempt; null before the first attempt */
  duration_ms?: number | null;
  /** The latest replay of this event or of one of its replays; null if there is none */
  replayed_by?: LatestReplay | null;
  /** The agent's work on the item; null before the agent has accepted it, and for targets of other kinds */
  handoff?: HandoffSummary | null;
}

export interface EventType {
  /** The value of `event_type` of an item */
  name: string;
  /** The service's id for the event type, used in the audit log */
  id: string;
  description: string;
  /** The group to which the event type belongs; empty for none */
  group: string;
  /** Whether the event type is deprecated */
  deprecated: boolean;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  updated_at: number;
  /** JSON Schema of the payload, up to 64 KiB: draft 2020-12, or draft 7 if `$schema` says so. null for none */
  schema: Record<string, unknown> | null;
  /** Example of a payload: any JSON, up to 64 KiB. The service does not validate it against the schema. null for none */
  example: unknown;
}

export interface EventTypeInput {
  description?: string;
  /** The group to which the event type belongs, such as Orders */
  group?: string;
  /** Default: false */
  deprecated?: boolean;
  /** JSON Schema of the payload, up to 64 KiB: draft 2020-12, or draft 7 if `$schema` says so. null for none */
  schema?: Record<string, unknown> | null;
  /** Example of a payload: any JSON, up to 64 KiB. The service does not validate it against the schema. null for none */
  example?: unknown;
}

export interface FilterResult {
  /** undecided: the sample is too large for this filter; such an item passes, like one that matches */
  verdict: "matches" | "differs" | "undecided";
  /** The parts of the filter that the sample does not match */
  failed: {
    /** Path of the failed part in the filter */
    path: string;
    /** The condition at this position */
    expected: unknown;
    /** Up to ten values of the sample at this position; none when the field is absent */
    found: unknown[];
  }[];
}

export interface FilterTrial {
  /** Selects the target's items: a pattern in the grammar of Amazon EventBridge (values, prefix, suffix, equals-ignore-case, anything-but, numeric, exists, $or) over `payload`, the JSON that was posted, and `metadata` (event_type, correlation_id, ordering_key). At most 4 KiB */
  filter: Record<string, unknown>;
  /** Any JSON */
  payload: unknown;
  /** Like X-Event-Type; event_type in the payload has precedence */
  event_type?: string;
  /** Like X-Correlation-ID */
  correlation_id?: string;
  /** Like X-Ordering-Key */
  ordering_key?: string;
}

export interface Handoff {
  /** Null when the agent answered with a message instead of a task */
  task_id: string | null;
  context_id: string | null;
  /** The task's state that the agent last reported, such as WORKING or INPUT_REQUIRED */
  state: string | null;
  /** The text of the agent's message: its status message, or its answer */
  status_message: string | null;
  /** All parts of that message */
  status_parts: unknown[];
  /** The task's artifacts, at most 64 KiB */
  artifacts: unknown[];
  /** Parts were left out because of their size */
  artifacts_truncated: boolean;
  /** COMPLETED, FAILED, CANCELED, REJECTED; UNKNOWN when the task can no longer be followed; null before its end */
  outcome: string | null;
  /** Why the task cannot be followed at the moment, or why its outcome is unknown */
  error: string | null;
  /** The message was sent again although it was unknown whether the first one had created a task */
  possible_duplicate: boolean;
  /** Unix seconds */
  accepted_at: number;
  /** Unix seconds */
  updated_at: number;
}

export interface HandoffSummary {
  /** Null when the agent answered with a message instead of a task */
  task_id: string | null;
  /** The task's state that the agent last reported, such as WORKING or INPUT_REQUIRED */
  state: string | null;
  /** The text of the agent's message: its status message, or its answer */
  status_message: string | null;
  /** COMPLETED, FAILED, CANCELED, REJECTED; UNKNOWN when the task can no longer be followed; null before its end */
  outcome: string | null;
  /** The message was sent again although it was unknown whether the first one had created a task */
  possible_duplicate: boolean;
  /** Unix seconds */
  updated_at: number;
}

export interface ImportedEventTypes {
  dry_run: boolean;
  created: string[];
  updated: string[];
  unchanged: string[];
  /** Webhooks that cannot become event types, each with the reason. The other webhooks are imported */
  refused: {
    name: string;
    reason: string;
  }[];
}

export interface Invitation {
  id: string;
  role: "viewer" | "member" | "admin";
  /** Only this address can accept the invitation; null if any address can */
  email: string | null;
  /** The user who created the invitation */
  created_by: string | null;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  expires_at: number;
  status: "OPEN" | "ACCEPTED" | "REVOKED" | "EXPIRED";
  /** Unix seconds */
  accepted_at: number | null;
  accepted_by: string | null;
  /** Unix seconds */
  revoked_at: number | null;
}

export interface Invoice {
  number: string | null;
  /** Unix seconds */
  date: number;
  status: string | null;
  /** In the currency's smallest unit */
  amount_due: number;
  /** In the currency's smallest unit */
  amount_paid: number;
  currency: string;
  hosted_invoice_url: string | null;
}

export interface JsonRpcError {
  jsonrpc: "2.0";
  error: {
    code: number;
    message: string;
  };
  id: string | number | null;
}

export interface LatestReplay {
  id: string;
  /** The states from UNREAD on are those of mailbox messages */
  status: "QUEUED" | "RETRYING" | "DELIVERED" | "FAILED" | "FILTERED" | "CANCELED" | "UNREAD" | "CLAIMED" | "ACKNOWLEDGED" | "EXPIRED" | "DEAD";
  /** Unix seconds */
  created_at: number;
}

export interface ListedEventType {
  /** The value of `event_type` of an item */
  name: string;
  /** The service's id for the event type, used in the audit log */
  id: string;
  description: string;
  /** The group to which the event type belongs; empty for none */
  group: string;
  /** Whether the event type is deprecated */
  deprecated: boolean;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  updated_at: number;
}

export interface ListedHealth {
  target_id: string;
  kind: "webhook" | "mailbox" | "a2a";
  enabled: boolean;
  disabled_reason: string | null;
  /** Unix seconds */
  last_attempt_at: number | null;
  /** Unix seconds */
  last_success_at: number | null;
  /** Unix seconds */
  failing_since: number | null;
  /** Share of the attempts in the last 24 hours that succeeded; null if there was no attempt */
  success_rate_24h: number | null;
  /** State of the circuit breaker. `open`: the target keeps failing, so a node sends nothing to it for up to 30 s. `half_open`: one request tests the target */
  circuit?: "closed" | "open" | "half_open";
  /** Items that nodes have leased: they are being sent or about to be sent. Absent for mailboxes */
  in_flight?: number;
  /** Items that are due and not sent yet. Absent for mailboxes */
  due?: number;
  /** False if `due` is only a lower bound (for a disabled target: `held`, too). Counting stops after 2,500 rows; a row has one item, or up to 64 items that were accepted together */
  due_is_exact?: boolean;
  /** Unix seconds */
  oldest_due_at?: number | null;
  oldest_due_seconds?: number | null;
  /** Items that wait until the target is enabled */
  held?: number;
  /** For mailboxes only: as in the statistics of the mailbox */
  ready?: number;
  claimed?: number;
  delayed?: number;
  blocked?: number;
  dead?: number;
  /** For mailboxes only: as in the statistics of the mailbox, but counting stops at 1,000 messages that were claimed or released, and at 2,500 dead messages */
  counts_are_exact?: boolean;
  oldest_ready_seconds?: number | null;
  accepted_per_minute?: number;
  acknowledged_per_minute?: number;
  /** Attempts in each of the last 24 hours; hours without attempts are omitted */
  hours: {
    /** Unix seconds */
    at: number;
    delivered: number;
    retried: number;
    failed: number;
  }[];
}

export interface MailboxStats {
  /** Claimable now */
  ready: number;
  claimed: number;
  /** Released with a delay that has not passed yet */
  delayed: number;
  /** Blocked by an earlier message with the same ordering key */
  blocked: number;
  dead: number;
  /** False when the mailbox has more than 2,500 messages that were claimed or released, or more than 10,000 dead ones. Counting then stops at these numbers, and ready is an upper bound */
  counts_are_exact: boolean;
  /** Age of the oldest message that is UNREAD */
  oldest_age_seconds: number | null;
  /** Over the last five minutes */
  accepted_per_minute: number;
  /** Over the last five minutes */
  acknowledged_per_minute: number;
}

export interface Member {
  id: string;
  email: string;
  name: string;
  role: "viewer" | "member" | "admin";
  /** Unix seconds */
  created_at: number;
  /** Time of the last login whose session has not ended; null if the member has no such session */
  last_login_at: number | null;
}

export interface Message {
  id: string;
  mailbox_id: string;
  status: "UNREAD" | "CLAIMED" | "ACKNOWLEDGED" | "EXPIRED" | "DEAD";
  event_type: string | null;
  correlation_id: string | null;
  ordering_key: string | null;
  /** The id of the API key that claimed the message or acknowledged it */
  claimed_by: string | null;
  /** Unix seconds */
  claim_expires_at: number | null;
  claim_count: number;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  expires_at: number;
  /** Unix seconds */
  acknowledged_at: number | null;
  dead_reason: string | null;
  /** Interventions of users in the message: forced releases and rejections */
  interventions: ({
    action: "force_release" | "force_reject";
    /** The email address of the user */
    by: string;
    /** Unix seconds */
    at: number;
    reason: string | null;
    /** The id of the API key whose claim was ended */
    claimed_by: string | null;
  })[];
  /** The JSON document that was accepted; null once the message has expired or was erased */
  payload: unknown;
}

export interface MessageSummary {
  id: string;
  mailbox_id: string;
  status: "UNREAD" | "CLAIMED" | "ACKNOWLEDGED" | "EXPIRED" | "DEAD";
  event_type: string | null;
  correlation_id: string | null;
  ordering_key: string | null;
  /** The id of the API key that claimed the message or acknowledged it */
  claimed_by: string | null;
  /** Unix seconds */
  claim_expires_at: number | null;
  claim_count: number;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  expires_at: number;
  /** Unix seconds */
  acknowledged_at: number | null;
  dead_reason: string | null;
}

export interface NewEndpoint {
  name: string;
  url: string;
  description?: string;
  /** Which event types are delivered: each entry is a type, or a prefix as in invoice.*. Default: empty, which means all types */
  event_types?: string[];
  max_payload_bytes?: number;
  /** Attempts after the first. Default for a new target: 8 */
  max_retries?: number;
  /** Delay before the first retry; each later retry waits three times as long as the previous retry. Default for a new target: 30 */
  retry_interval_seconds?: number;
  /** Default: true */
  enabled?: boolean;
}

export interface NewInvitation {
  id: string;
  role: "viewer" | "member" | "admin";
  /** Only this address can accept the invitation; null if any address can */
  email: string | null;
  /** The user who created the invitation */
  created_by: string | null;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  expires_at: number;
  /** Shown once */
  token: string;
  /** The dashboard page on which to accept the invitation. The token is in the fragment, after the `#`, which browsers do not send to servers. null if `POSTRIDER_PUBLIC_URL` is not set */
  url: string | null;
}

export interface NewReplay {
  filter: ReplayFilter;
  /** Maximum number of events that are replayed per second. Default: 50 */
  rate_per_second?: number;
  /** With the status FAILED or DEAD: also replay events that already have a replay in progress or a successful replay, and failed replays of events that are themselves replayed */
  include_replayed?: boolean;
  /** new: the deliveries get a new webhook-id, so that receivers process the event again. By default they keep the webhook-id of the source event, so that receivers that deduplicate process the event once */
  webhook_id?: "new";
  /** Only count the events that match the filter; nothing is replayed */
  dry_run?: boolean;
}

export interface NewTarget {
  kind: "webhook" | "mailbox" | "a2a";
  name: string;
  url?: string;
  agent_card_url?: string;
  /** Additional headers of every attempt; replaces all headers of the target. A value given as text is secret: it is stored encrypted and shown as ***; sending back *** keeps it. {value, secret: false} stays readable. Headers that the service sets itself, or that belong to the connection, are refused */
  headers?: Record<string, string | {
    value: string;
    /** Default: true */
    secret?: boolean;
  }>;
  /** For webhooks: an existing signing secret (whsec_ and 24 to 64 bytes in base64); without it, a new one is generated */
  secret?: string;
  description?: string;
  /** Default: true */
  enabled?: boolean;
  /** Which event types are delivered: each entry is a type, or a prefix as in invoice.*. Default: empty, which means all types */
  event_types?: string[];
  max_payload_bytes?: number;
  /** Attempts after the first. Default for a new target: 8 */
  max_retries?: number;
  /** Delay before the first retry; each later retry waits three times as long as the previous retry. Default for a new target: 30 */
  retry_interval_seconds?: number;
  /** Attempts per second, including retries, on all nodes together; null: no rate limit */
  rate_limit_per_second?: number | null;
  /** Burst: attempts that may begin at once after a pause; null: a tenth of a second's worth, at least one */
  rate_limit_burst?: number | null;
  /** Concurrent requests, on all nodes together; null: POSTRIDER_TARGET_CONCURRENCY on each node */
  max_concurrency?: number | null;
  /** For mailboxes: how often a message may be claimed before it becomes dead; null means any number */
  max_claims?: number | null;
  /** With a bearer token or an API key: confirms the origin that it may be sent to, if the agent's interface has another origin than its card */
  confirm_origin?: string;
  auth?: {
    type: "bearer" | "api_key" | "none";
    /** With bearer */
    token?: string;
    /** With api_key: such as X-API-Key */
    header?: string;
    /** With api_key */
    value?: string;
  };
  /** A mailbox or webhook target that receives each task's result as an item; null for none */
  result_target_id?: string | null;
  /** Your own unique id of the target */
  uid?: string | null;
  /** The customer that the target belongs to; deleting the customer deletes the target */
  customer_uid?: string | null;
  /** Any JSON object of up to 4 KiB; a change replaces the whole object */
  metadata?: Record<string, unknown> | null;
  /** Selects the target's items: a pattern in the grammar of Amazon EventBridge (values, prefix, suffix, equals-ignore-case, anything-but, numeric, exists, $or) over `payload`, the JSON that was posted, and `metadata` (event_type, correlation_id, ordering_key). At most 4 KiB */
  filter?: Record<string, unknown> | null;
}

export interface NotificationTarget {
  id: string;
  target_id: string;
  event_types: ("target.disabled" | "target.recovered" | "event.failed" | "mailbox.message_dead" | "handoff.input_required")[];
  /** Unix seconds */
  created_at: number;
}

export interface Organization {
  id: string;
  name: string;
  /** Unique. Generated when the organization is created, and not changed when it is renamed */
  slug: string;
  billing_status: "pending" | "active" | "grace" | "suspended" | "exempt";
  /** Unix seconds */
  billing_grace_ends_at: number | null;
  /** Whether admins can read the signing secrets of existing targets */
  secrets_can_be_revealed: boolean;
  /** Unix seconds */
  created_at: number;
}

export interface Portal {
  organization: {
    id: string;
    name: string;
    /** An https URL, or a base64 data URL of a PNG, JPEG, GIF, WebP or SVG image. The service never fetches the URL. null for none */
    logo: string | null;
    /** Colour of buttons, as #rrggbb. The text on buttons is black or white, whichever is easier to read. null for the default colour */
    colour: string | null;
  };
  customer: {
    uid: string;
    name: string | null;
  };
  /** Unix seconds */
  expires_at: number;
}

export interface PortalLink {
  /** The link for the customer. The code in its fragment works once and expires after one hour. Shown once */
  url: string;
  /** Unix seconds */
  expires_at: number;
}

export interface PortalSession {
  /** Value for the `X-Session-Token` header. Shown once */
  session_token: string;
  /** Unix seconds */
  expires_at: number;
}

export interface PortalSettings {
  /** The name that customers see. null for the name of the organization */
  name: string | null;
  /** An https URL, or a base64 data URL of a PNG, JPEG, GIF, WebP or SVG image. The service never fetches the URL. null for none */
  logo: string | null;
  /** Colour of buttons, as #rrggbb. The text on buttons is black or white, whichever is easier to read. null for the default colour */
  colour: string | null;
  /** Origins of the pages that can show the portal in a frame, such as https://app.example.com. http is allowed only for localhost. If the list is empty, no page can show the portal in a frame */
  origins: string[];
}

export interface PortalSettingsInput {
  /** The name that customers see. null for the name of the organization */
  name?: string | null;
  /** An https URL, or a base64 data URL of a PNG, JPEG, GIF, WebP or SVG image. The service never fetches the URL. null for none */
  logo?: string | null;
  /** Colour of buttons, as #rrggbb, in upper or lower case. null for the default colour */
  colour?: string | null;
  /** Origins of the pages that can show the portal in a frame, such as https://app.example.com. http is allowed only for localhost. If the list is empty, no page can show the portal in a frame */
  origins?: string[];
}

export interface Publication {
  id: string;
  /** null for a publication to the targets that belong to no customer */
  customer_uid: string | null;
  event_type: string | null;
  correlation_id: string | null;
  item_count: number;
  /** Unix seconds */
  created_at: number;
  /** Newest first */
  items: PublicationItem[];
}

export interface PublicationItem {
  id: string;
  endpoint_id: string;
  event_type: string | null;
  /** The states from UNREAD on are those of mailbox messages */
  status: "QUEUED" | "RETRYING" | "DELIVERED" | "FAILED" | "FILTERED" | "CANCELED" | "UNREAD" | "CLAIMED" | "ACKNOWLEDGED" | "EXPIRED" | "DEAD";
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  updated_at: number;
  /** Attempts made so far */
  attempts?: number;
  /** The receiver's last HTTP status; 0 when it did not answer, null before the first attempt */
  last_status_code?: number | null;
  /** When the next attempt is due; null while an attempt is in progress, when none will follow, and while the target is disabled */
  next_attempt_at?: number | null;
  /** Duration of the last attempt; null before the first attempt */
  duration_ms?: number | null;
  /** The latest replay of this event or of one of its replays; null if there is none */
  replayed_by?: LatestReplay | null;
  /** The agent's work on the item; null before the agent has accepted it, and for targets of other kinds */
  handoff?: HandoffSummary | null;
  /** The latest replay of this item; null if it was not replayed */
  latest_replay: {
    id: string;
    /** The states from UNREAD on are those of mailbox messages */
    status: "QUEUED" | "RETRYING" | "DELIVERED" | "FAILED" | "FILTERED" | "CANCELED" | "UNREAD" | "CLAIMED" | "ACKNOWLEDGED" | "EXPIRED" | "DEAD";
  } | null;
}

export interface PublicationReplay {
  items: ({
    id: string;
    target_id: string;
    /** `UNREAD` for mailboxes, `QUEUED` for other targets */
    status: "QUEUED" | "UNREAD";
    /** The replayed item; null for an added target */
    source_event_id: string | null;
  })[];
  /** Failed items that can no longer be delivered */
  skipped: ({
    event_id: string;
    reason: "target_deleted" | "mailbox_disabled" | "expired" | "erased";
  })[];
}

export interface PublicationReplayInput {
  /** `failed`: replay the items that are FAILED or DEAD, without billing. Items that already have a replay in progress or a successful replay are left out. `added`: create new items for the targets that the publication would reach now and did not reach before */
  to: "failed" | "added";
  /** new: the deliveries get a new webhook-id, so that receivers process the event again. By default they keep the webhook-id of the source event, so that receivers that deduplicate process the event once */
  webhook_id?: "new";
}

export interface PublicationSummary {
  id: string;
  /** null for a publication to the targets that belong to no customer */
  customer_uid: string | null;
  event_type: string | null;
  correlation_id: string | null;
  item_count: number;
  /** Unix seconds */
  created_at: number;
}

export interface Reconciliation {
  status: "disabled" | "pending" | "reconciled";
  billing_enabled: boolean;
  /** Unix seconds */
  period_start: number;
  /** Unix seconds */
  period_end: number;
  /** Items of the month in the local ledger */
  accepted_events: number;
  /** Items in the local ledger that the processor has not confirmed */
  pending_meter_events: number;
  estimated_cents: number;
  /** Total of the month at the processor's meter */
  processor_events: number | null;
  /** Total of the processor minus the billable items in the local ledger */
  difference_events: number | null;
  latest_invoice: {
    number: string | null;
    status: string | null;
    /** Unix seconds */
    period_start: number;
    /** Unix seconds */
    period_end: number;
    currency: string;
    subtotal_cents: number;
    /** Estimated cost in the local ledger for the month of the invoice */
    local_estimate_cents: number;
    /** Invoice minus local estimate; null if the invoice is in another currency than the price */
    difference_cents: number | null;
  } | null;
}

export interface Replay {
  id: string;
  /** UNREAD for mailboxes */
  status: "QUEUED" | "UNREAD";
  source_event_id: string;
}

export interface ReplayFilter {
  target_id?: string;
  status?: "DELIVERED" | "FAILED" | "FILTERED" | "CANCELED" | "ACKNOWLEDGED" | "DEAD";
  event_type?: string;
  correlation_id?: string;
  /** Accepted at or after this, in Unix seconds */
  created_after?: number;
  /** Accepted before this, in Unix seconds */
  created_before?: number;
}

export interface ReplayJob {
  id: string;
  /** `DONE`: each event was replayed or skipped; deliveries can still be in progress */
  status: "RUNNING" | "DONE" | "CANCELED";
  filter: ReplayFilter;
  include_replayed: boolean;
  rate_per_second: number;
  /** Number of events that match the filter; null until they are counted */
  total: number | null;
  /** Number of new events created */
  replayed: number;
  /** New events that are DELIVERED or ACKNOWLEDGED so far */
  delivered: number;
  /** New events that ended with another status so far */
  failed: number;
  /** Matching events that cannot be replayed */
  skipped: number;
  skipped_reasons: SkippedReasons;
  /** The email of the user, or the name and the prefix of the API key */
  created_by: string;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  finished_at: number | null;
}

export interface RevealedSecrets {
  secret: string;
  /** Set while a rotation is in progress */
  previous_secret?: string;
}

export interface Rotation {
  /** For webhooks: an existing signing secret (whsec_ and 24 to 64 bytes in base64); without it, a new one is generated */
  secret?: string;
  /** When the previous secret ends, to within a minute; without it, the previous secret stays until it is deleted */
  previous_secret_ends_in_seconds?: number;
}

export interface SkippedReasons {
  /** Events that had not ended when the replay was started */
  still_waiting: number;
  target_deleted: number;
  mailbox_disabled: number;
  /** Events whose payload is no longer stored */
  expired: number;
}

export interface Stats {
  /** Unix seconds */
  from: number;
  /** Unix seconds */
  to: number;
  /** Seconds */
  step: number;
  /** One point for each step with activity; `at` is the beginning of the step */
  points: ({
    /** Unix seconds */
    at: number;
    /** Accepted items, including replays */
    accepted: number;
    /** Delivered items; for a mailbox, acknowledged messages */
    delivered: number;
    /** Failed attempts that are followed by a retry */
    retried: number;
    /** Items whose last attempt failed */
    failed: number;
    /** Time from acceptance to the successful response, accurate to about 5 %; null if no item was delivered */
    latency_ms: {
      p50: number;
      p95: number;
      p99: number;
    } | null;
  })[];
  totals: {
    /** Accepted items, including replays */
    accepted: number;
    /** Delivered items; for a mailbox, acknowledged messages */
    delivered: number;
    /** Failed attempts that are followed by a retry */
    retried: number;
    /** Items whose last attempt failed */
    failed: number;
    /** Time from acceptance to the successful response, accurate to about 5 %; null if no item was delivered */
    latency_ms: {
      p50: number;
      p95: number;
      p99: number;
    } | null;
  };
}

export interface Target {
  id: string;
  kind: "webhook" | "mailbox" | "a2a";
  /** Your own id of the target; absent if none was set */
  uid?: string;
  /** The customer that the target belongs to; absent when it belongs to none */
  customer_uid?: string;
  /** Any JSON object of up to 4 KiB; a change replaces the whole object */
  metadata?: Record<string, unknown>;
  /** Selects the target's items: a pattern in the grammar of Amazon EventBridge (values, prefix, suffix, equals-ignore-case, anything-but, numeric, exists, $or) over `payload`, the JSON that was posted, and `metadata` (event_type, correlation_id, ordering_key). At most 4 KiB */
  filter?: Record<string, unknown>;
  name: string;
  description: string;
  enabled: boolean;
  /** Why the service disabled the target; absent otherwise */
  disabled_reason?: string;
  /** Since when all attempts have failed; absent once an attempt succeeds */
  failing_since?: number;
  /** URL of deliveries; absent on mailboxes */
  url?: string;
  /** The signing secret (`whsec_…`), shown once on creation and on rotation */
  secret?: string;
  /** Only in the answer that enables a webhook or agent again: the number of items that waited for the target. They are delivered from now on, or are CANCELED with discard_held. Above 100,000 the real number may be larger. */
  held_items?: number;
  signing_scheme?: "standard-webhooks-v1";
  /** True while a rotation is in progress and deliveries are signed with both secrets */
  has_previous_signing_secret?: boolean;
  /** When the previous secret ends; absent if no end is set */
  previous_signing_secret_until?: number;
  /** Empty: all types */
  event_types?: string[];
  max_payload_bytes?: number;
  max_retries?: number;
  retry_interval_seconds?: number;
  /** How often a message of the mailbox may be claimed before it becomes dead; null means any number */
  max_claims?: number | null;
  /** Attempts per second, including retries, on all nodes together; null: no rate limit */
  rate_limit_per_second?: number | null;
  /** Burst: attempts that may begin at once after a pause; null: a tenth of a second's worth, at least one */
  rate_limit_burst?: number | null;
  /** Concurrent requests, on all nodes together; null: POSTRIDER_TARGET_CONCURRENCY on each node */
  max_concurrency?: number | null;
  /** For webhooks: additional headers of each attempt */
  headers?: Record<string, string | {
    value: string;
    secret: boolean;
  }>;
  agent_card_url?: string;
  auth?: {
    /** token and value are never shown */
    type: "bearer" | "api_key" | "none";
    /** With api_key: the header that carries the value */
    header?: string;
  };
  /** From the agent's card */
  agent_name?: string;
  /** From the agent's card */
  agent_version?: string;
  /** When the card in use was last read, in Unix seconds */
  card_fetched_at?: number;
  /** Why the card could not be refreshed since then; the last usable card stays in use */
  card_error?: string | null;
  /** Unix seconds */
  card_error_at?: number | null;
  /** verified; unverified when no key could be fetched; invalid when the signature does not match; none when the card is not signed */
  card_signature?: string;
  /** The URL of the keys that verified the card: its owner vouches for the card */
  card_signature_keys?: string | null;
  card_signature_detail?: string | null;
  /** The origin to which a newer card moves the agent, until the owner names it in confirm_origin */
  offered_origin?: string | null;
  /** The state of a newer card's signature, worse than verified, until the owner names it in confirm_signature */
  offered_signature?: string | null;
  /** The mailbox or webhook target that receives each task's result as an item */
  result_target_id?: string | null;
  /** Unix seconds */
  created_at: number;
  /** Unix seconds */
  updated_at: number;
}

export interface TargetChanges {
  /** null: none */
  headers?: Record<string, string | {
    value: string;
    /** Default: true */
    secret?: boolean;
  }> | null;
  name?: string;
  url?: string;
  enabled?: boolean;
  /** With enabled: true, cancels all items that wait for the target before it is enabled */
  discard_held?: boolean;
  description?: string;
  /** Which event types are delivered: each entry is a type, or a prefix as in invoice.*. Default: empty, which means all types */
  event_types?: string[];
  max_payload_bytes?: number;
  /** Attempts after the first. Default for a new target: 8 */
  max_retries?: number;
  /** Delay before the first retry; each later retry waits three times as long as the previous retry. Default for a new target: 30 */
  retry_interval_seconds?: number;
  /** Attempts per second, including retries, on all nodes together; null: no rate limit */
  rate_limit_per_second?: number | null;
  /** Burst: attempts that may begin at once after a pause; null: a tenth of a second's worth, at least one */
  rate_limit_burst?: number | null;
  /** Concurrent requests, on all nodes together; null: POSTRIDER_TARGET_CONCURRENCY on each node */
  max_concurrency?: number | null;
  /** For mailboxes: how often a message may be claimed before it becomes dead; null means any number */
  max_claims?: number | null;
  /** With a bearer token or an API key: confirms the origin that it may be sent to, if the agent's interface has another origin than its card */
  confirm_origin?: string;
  auth?: {
    type: "bearer" | "api_key" | "none";
    /** With bearer */
    token?: string;
    /** With api_key: such as X-API-Key */
    header?: string;
    /** With api_key */
    value?: string;
  };
  /** A mailbox or webhook target that receives each task's result as an item; null for none */
  result_target_id?: string | null;
  /** Your own unique id of the target */
  uid?: string | null;
  /** The customer that the target belongs to; deleting the customer deletes the target */
  customer_uid?: string | null;
  /** Any JSON object of up to 4 KiB; a change replaces the whole object */
  metadata?: Record<string, unknown> | null;
  /** Selects the target's items: a pattern in the grammar of Amazon EventBridge (values, prefix, suffix, equals-ignore-case, anything-but, numeric, exists, $or) over `payload`, the JSON that was posted, and `metadata` (event_type, correlation_id, ordering_key). At most 4 KiB */
  filter?: Record<string, unknown> | null;
}

export interface TargetHealth {
  target_id: string;
  kind: "webhook" | "mailbox" | "a2a";
  enabled: boolean;
  disabled_reason: string | null;
  /** Unix seconds */
  last_attempt_at: number | null;
  /** Unix seconds */
  last_success_at: number | null;
  /** Unix seconds */
  failing_since: number | null;
  /** Share of the attempts in the last 24 hours that succeeded; null if there was no attempt */
  success_rate_24h: number | null;
  /** State of the circuit breaker. `open`: the target keeps failing, so a node sends nothing to it for up to 30 s. `half_open`: one request tests the target */
  circuit?: "closed" | "open" | "half_open";
  /** Items that nodes have leased: they are being sent or about to be sent. Absent for mailboxes */
  in_flight?: number;
  /** Items that are due and not sent yet. Absent for mailboxes */
  due?: number;
  /** False if `due` is only a lower bound (for a disabled target: `held`, too). Counting stops after 2,500 rows; a row has one item, or up to 64 items that were accepted together */
  due_is_exact?: boolean;
  /** Unix seconds */
  oldest_due_at?: number | null;
  oldest_due_seconds?: number | null;
  /** Items that wait until the target is enabled */
  held?: number;
  /** For mailboxes only: as in the statistics of the mailbox */
  ready?: number;
  claimed?: number;
  delayed?: number;
  blocked?: number;
  dead?: number;
  /** For mailboxes only: as in the statistics of the mailbox, but counting stops at 1,000 messages that were claimed or released, and at 2,500 dead messages */
  counts_are_exact?: boolean;
  oldest_ready_seconds?: number | null;
  accepted_per_minute?: number;
  acknowledged_per_minute?: number;
}

export interface TestItem {
  /** Value of `x-event-type`; default `postrider.test` */
  event_type?: string;
  /** Payload to send, any JSON; default: a sample */
  payload?: unknown;
}

export interface TestResult {
  /** The delivery's `webhook-id`; there is no event with this id */
  event_id: string;
  is_test: true;
  /** Whether the receiver answered 2xx */
  delivered: boolean;
  attempt: {
    /** HTTP status of the answer; 0 when there was none */
    status_code: number;
    duration_ms: number;
    error: string | null;
    /** First KiB of the answer's body, as text */
    response_body: string | null;
  };
}

export interface TryoutRequest {
  id: string;
  /** Unix seconds */
  received_at: number;
  event_id: string;
  /** Names and values, in the order in which they were sent */
  headers: string[][];
  /** The first 64 KiB, as text */
  body: string;
  body_truncated: boolean;
  /** Whether the signature is valid with the target's signing secret */
  signature_verified: boolean;
  /** HTTP status of the answer */
  answered: number;
}

export interface Usage {
  /** Unix seconds */
  period_start: number;
  /** Unix seconds */
  period_end: number;
  /** Items newly accepted in the period */
  accepted_events: number;
  /** Units of 1,000 items, rounded up; 0 for an exempt organization */
  estimated_units: number;
  /** US cents; 0 for an exempt organization */
  estimated_cents: number;
  /** Items that wait for export to the payment processor */
  pending_meter_events: number;
}

export interface User {
  id: string;
  email: string;
  name: string;
  org_id: string;
  role: "viewer" | "member" | "admin";
}

/** The service's operations, one method each. */
export interface Operations {
  /** Create an account with an organization, a default API key and a session. If the email already has an account, the response has only `message`, and takes as long as a successful signup, so that nobody can find out who has an account. While live billing is enabled, the response has no `api_key`, because the new organization is pending. Rate limited per client address, in windows of 15 minutes. Every request with a valid body counts, whether it succeeds or fails. The headers `RateLimit` and `RateLimit-Policy` show how many requests are left; a 429 response has `Retry-After`. */
  signUp(body: {
    email: string;
    password: string;
    /** Default: the local part of the email */
    name?: string;
  }, options?: CallOptions): Promise<{
    user: User;
    session_token: string;
    /** Shown once */
    api_key?: string;
  } | {
    message: string;
  }>;
  /** Log in: start a session. A user has at most five sessions: a login beyond this limit ends the oldest session. Rate limited per client address, in windows of 15 minutes. Every request with a valid body counts, whether it succeeds or fails. The headers `RateLimit` and `RateLimit-Policy` show how many requests are left; a 429 response has `Retry-After`. */
  logIn(body: {
    email: string;
    password: string;
  }, options?: CallOptions): Promise<{
    user: User;
    session_token: string;
  }>;
  /** Log out: end the current session. */
  logOut(options?: CallOptions): Promise<{
    ok: true;
  }>;
  /** End all sessions of the user. With an API key, which belongs to no user, the request ends all sessions of all users of the organization. */
  logOutAll(options?: CallOptions): Promise<{
    ok: true;
    sessions_revoked: true;
  }>;
  /** Change the password of the user. Ends every other session of the user. Rate limited per user in windows of 15 minutes, with the same limit as logins. */
  changePassword(body: {
    current_password: string;
    new_password: string;
  }, options?: CallOptions): Promise<{
    ok: true;
  }>;
  /** Request an email with a link to reset a forgotten password. The response is sent before the account is looked up, so that nobody can find out who has an account. The link works once, and expires after 30 minutes or when a newer link is requested. Rate limited per client address and per email in windows of 15 minutes, with the same limit as logins. The status is 501 if the operator has not configured a mail server. */
  requestPasswordReset(body: {
    email: string;
  }, options?: CallOptions): Promise<{
    message: string;
  }>;
  /** Set a new password with the token of a reset link. Ends all sessions of the user and starts none: log in with the new password. API keys stay valid. Rate limited per client address, as logins are. */
  confirmPasswordReset(body: {
    token: string;
    password: string;
  }, options?: CallOptions): Promise<{
    ok: true;
  }>;
  /** Read the user of a session, or the organization of an API key. */
  readMe(options?: CallOptions): Promise<{
    user: User | {
      org_id: string;
    };
  }>;
  /** Create an API key. Requires a session token, so that a leaked key cannot create other keys. An organization has at most 5 keys. The status is 402 while the organization is suspended, and 403 while it is pending. `scope` limits what a key can do, and cannot be changed later. */
  createKey(body: {
    name: string;
    /** `send`: the key can only send items and publications. `read`: the key can only read. `consume`: the key can only use the messages of `mailbox_ids`. `customer`: the key can only use the targets, items and publications of `customer_uid`, and publish to this customer. A key without a scope is not limited. */
    scope?: "send" | "read" | "consume" | "customer";
    /** The customer of a key with the scope `customer` */
    customer_uid?: string;
    /** The mailboxes of a key with the scope `consume` */
    mailbox_ids?: string[];
  }, options?: CallOptions): Promise<{
    id: string;
    name: string;
    /** Shown once */
    key: string;
    /** `send`: the key can only send items and publications. `read`: the key can only read. `consume`: the key can only use the messages of `mailbox_ids`. `customer`: the key can only use the targets, items and publications of `customer_uid`, and publish to this customer. A key without a scope is not limited. */
    scope?: "send" | "read" | "consume" | "customer";
    /** The customer of a key with the scope `customer` */
    customer_uid?: string;
    /** The mailboxes of a key with the scope `consume` */
    mailbox_ids?: string[];
  }>;
  /** List the API keys, oldest first. */
  listKeys(options?: CallOptions): Promise<{
    keys: ApiKey[];
  }>;
  /** Delete an API key. The last key of the organization and the key that authenticates the request cannot be deleted: the status is 409. */
  deleteKey(id: string, options?: CallOptions): Promise<Deleted>;
  /** List customers, sorted by uid. */
  listCustomers(options?: CallOptions & { limit?: number; /** The uid of the last customer of the previous page */ after?: string; /** Only customers whose uid begins with this */ prefix?: string }): Promise<{
    customers: Customer[];
  }>;
  /** Create or replace a customer. The same request creates or replaces the customer, so it can be repeated. Omitted fields become empty. */
  putCustomer(uid: string, body: CustomerInput, options?: CallOptions): Promise<Customer>;
  /** Read a customer. */
  readCustomer(uid: string, options?: CallOptions): Promise<Customer>;
  /** Delete a customer. Also deletes the targets of the customer and the API keys that are limited to the customer. Queued items of these targets become CANCELED. */
  deleteCustomer(uid: string, options?: CallOptions): Promise<DeletedCustomer>;
  /** Try a filter on a sample. Says whether an item like the sample would pass the filter, and which parts of the filter did not match. */
  tryFilter(body: FilterTrial, options?: CallOptions): Promise<FilterResult>;
  /** List event types. Sorted by name, without schemas and examples. */
  listEventTypes(options?: CallOptions & { limit?: number; /** The name of the last type of the previous page */ after?: string; /** Only types whose name begins with this */ prefix?: string; /** `true`: only deprecated event types; `false`: only event types that are not deprecated */ deprecated?: "true" | "false" }): Promise<{
    event_types: ListedEventType[];
  }>;
  /** Import event types from an OpenAPI document. Each webhook of the document creates or replaces one event type. The key of the webhook becomes the name, its first tag the group, and the schema and the example of its JSON request body become the schema and the example, with everything that they refer to in the document. Webhooks that cannot become an event type are listed in `refused`; the other webhooks are imported. Event types that are not in the document stay. */
  importEventTypes(body: Record<string, unknown> | string, options?: CallOptions & { /** `true`: report what the import would do, without changing anything */ dry_run?: "true" | "false" }): Promise<ImportedEventTypes>;
  /** Create or replace an event type. The same request creates or replaces the event type, so it can be repeated. Omitted fields become empty. Once the catalogue has an event type, targets can add only types of the catalogue to `event_types`; types that targets already list stay. */
  putEventType(name: string, body: EventTypeInput, options?: CallOptions): Promise<EventType>;
  /** Read an event type. */
  readEventType(name: string, options?: CallOptions): Promise<EventType>;
  /** Delete an event type. Targets that list the event type in `event_types` keep it there and still receive items of this type. While the catalogue has other event types, no target can add the deleted one to `event_types`. */
  deleteEventType(name: string, options?: CallOptions): Promise<DeletedEventType>;
  /** Create a link to the portal of a customer. The link works once and expires after one hour. The person who opens it gets a session of twelve hours, which can use the targets and items of this customer only. The status is 503, with `Retry-After`, while a process of an older version that does not know portals is running. */
  createPortalLink(uid: string, options?: CallOptions): Promise<PortalLink>;
  /** End all portal sessions of a customer. Also revokes the links of the customer that nobody has opened. */
  endPortalSessions(uid: string, options?: CallOptions): Promise<EndedPortalSessions>;
  /** Exchange the code of a portal link for a session. Each code works once. */
  openPortalSession(body: {
    /** The code in the fragment of the portal link */
    code: string;
  }, options?: CallOptions): Promise<PortalSession>;
  /** Read the customer and the appearance of the current portal session. */
  readPortal(options?: CallOptions): Promise<Portal>;
  /** End the current portal session. */
  leavePortal(options?: CallOptions): Promise<{
    ok: true;
  }>;
  /** Read the portal settings. */
  readPortalSettings(options?: CallOptions): Promise<PortalSettings>;
  /** Replace the portal settings. Replaces all settings: omitted settings are reset. Saving the same settings again changes nothing. */
  savePortalSettings(body: PortalSettingsInput, options?: CallOptions): Promise<PortalSettings>;
  /** List targets, oldest first. Lists all targets, unless `limit` is given. */
  listTargets(options?: CallOptions & { kind?: "webhook" | "mailbox" | "a2a"; /** Page size; without it, all targets are listed */ limit?: number; /** The id of the last target of the previous page */ after?: string; /** Only targets of this customer; an empty value lists targets without a customer */ customer_uid?: string; /** Only the target with this uid */ uid?: string }): Promise<{
    targets: Target[];
  }>;
  /** Create a webhook, mailbox or a2a target. The answer for a webhook target contains its signing secret; reading the target later does not show the secret. If the organization has a catalogue of event types, new entries of event_types must match one of its types. */
  createTarget(body: NewTarget, options?: CallOptions): Promise<Target>;
  /** Read a target. */
  readTarget(id: string, options?: CallOptions): Promise<Target>;
  /** Change a target. A disabled webhook or agent holds new items. Enabling it again makes all waiting items due at once, with their full retry schedule, and returns their number in held_items; with discard_held they become CANCELED instead. If the organization has a catalogue of event types, new entries of event_types must match one of its types. */
  updateTarget(id: string, body: TargetChanges, options?: CallOptions): Promise<Target>;
  /** Delete a target; its waiting items become CANCELED. */
  deleteTarget(id: string, options?: CallOptions): Promise<Deleted>;
  /** Refresh the agent card of an a2a target. The new card is checked completely before it replaces the last usable card. If the card moves the agent to an origin for which the credential was not given, the refresh is refused until a request with confirm_origin names this origin. */
  refreshTarget(id: string, body?: Consent | null, options?: CallOptions): Promise<Target>;
  /** Rotate the signing secret of a webhook target. Deliveries carry the signatures of both secrets until the previous secret is deleted or reaches the end that the rotation set for it. A second rotation before that ends the older previous secret. With a `secret` of your own the call is safe to repeat: if that secret is already the current secret, only the end of the previous secret changes, if the request names one. */
  rotateSigningSecret(id: string, body?: Rotation | null, options?: CallOptions): Promise<Target>;
  /** Reveal the signing secret of a webhook target. Needs an admin's session, and the organization's `secrets_can_be_revealed`. The audit log records each reveal as `target.secret_revealed`, committed before the answer is sent. */
  revealSigningSecret(id: string, options?: CallOptions): Promise<RevealedSecrets>;
  /** Delete the previous signing secret, which ends a rotation. Safe to repeat: gives the same answer when no rotation is in progress. */
  deletePreviousSigningSecret(id: string, options?: CallOptions): Promise<Deleted>;
  /** Send a test delivery to a webhook and show its receiver's answer. Makes one signed delivery at once, with the header `x-postrider-test: true`, and does not retry it. It is not an item: it is not stored, billed or counted, and its result does not change the target. Works for disabled targets, too. At most 10 tests a minute to one target, 30 to all targets. */
  testTarget(id: string, body?: TestItem | null, options?: CallOptions): Promise<TestResult>;
  /** List the last requests to a tryout target, newest first. The service itself receives the deliveries of a webhook target whose URL is `https://tryout.postrider.invalid/` followed by 32 hex characters. It verifies each delivery and keeps the last 50. `?answer=503` at the end of the URL makes it answer with that status. */
  listTryoutRequests(id: string, options?: CallOptions): Promise<{
    requests: TryoutRequest[];
  }>;
  /** Read the health of a target. The values cover all nodes. For mailboxes, the response has the fields of the mailbox's statistics instead of the fields about deliveries. */
  readTargetHealth(id: string, options?: CallOptions): Promise<TargetHealth>;
  /** List the health of several targets. Returns the health of the targets in `ids`, sorted by id, and their activity in each of the last 24 hours. Ids that are not targets of the organization are omitted. */
  listTargetHealth(options?: CallOptions & { /** Ids of targets, separated by commas: up to 100 */ ids?: string }): Promise<{
    targets: ListedHealth[];
  }>;
  /** Send an item to a target. 202 is sent only after the item is durable. The body is any JSON document, kept byte for byte. A disabled webhook or agent holds the item until it is enabled again. */
  sendItem(targetId: string, body: unknown, options?: CallOptions & { /** 1 to 255 characters; requests with the same key create one item */ idempotencyKey?: string; /** W3C Trace Context: the parent of the item's trace, if the service traces */ traceparent?: string; /** 1 to 256 printable ASCII characters; used when the body has no event_type */ eventType?: string; /** At most 128 letters, digits, - and _ */ correlationId?: string; /** For mailboxes: items with the same key are claimed in order */ orderingKey?: string }): Promise<AcceptedItem>;
  /** Send an event to a legacy endpoint. 202 is sent only after the item is durable. The body is any JSON document, kept byte for byte. A disabled webhook or agent holds the item until it is enabled again. */
  sendEvent(endpointId: string, body: unknown, options?: CallOptions & { /** 1 to 255 characters; requests with the same key create one item */ idempotencyKey?: string; /** W3C Trace Context: the parent of the item's trace, if the service traces */ traceparent?: string; /** 1 to 256 printable ASCII characters; used when the body has no event_type */ eventType?: string; /** At most 128 letters, digits, - and _ */ correlationId?: string; /** For mailboxes: items with the same key are claimed in order */ orderingKey?: string }): Promise<AcceptedItem>;
  /** Publish to all targets of a customer. Creates one item for each webhook, agent and mailbox whose `event_types` match. One transaction creates all items or none; the 202 response is sent when the items are durable. Disabled webhooks and agents hold their items; disabled mailboxes are skipped. The body is any JSON document; it is kept byte for byte and stored once. Each item is billed. */
  publishToCustomer(customer: string, body: unknown, options?: CallOptions & { /** 1 to 255 characters; requests with the same key create one item */ idempotencyKey?: string; /** W3C Trace Context: the parent of the item's trace, if the service traces */ traceparent?: string; /** 1 to 256 printable ASCII characters; used when the body has no event_type */ eventType?: string; /** At most 128 letters, digits, - and _ */ correlationId?: string; /** For mailboxes: items with the same key are claimed in order */ orderingKey?: string }): Promise<AcceptedPublication>;
  /** Publish to all targets that belong to no customer. Creates one item for each webhook, agent and mailbox whose `event_types` match. One transaction creates all items or none; the 202 response is sent when the items are durable. Disabled webhooks and agents hold their items; disabled mailboxes are skipped. The body is any JSON document; it is kept byte for byte and stored once. Each item is billed. */
  publish(body: unknown, options?: CallOptions & { /** 1 to 255 characters; requests with the same key create one item */ idempotencyKey?: string; /** W3C Trace Context: the parent of the item's trace, if the service traces */ traceparent?: string; /** 1 to 256 printable ASCII characters; used when the body has no event_type */ eventType?: string; /** At most 128 letters, digits, - and _ */ correlationId?: string; /** For mailboxes: items with the same key are claimed in order */ orderingKey?: string }): Promise<AcceptedPublication>;
  /** List publications, newest first. */
  listPublications(options?: CallOptions & { limit?: number; /** Only publications older than the one with this id */ before?: string; /** Only publications to this customer */ customer_uid?: string }): Promise<{
    publications: PublicationSummary[];
  }>;
  /** Read a publication and the status of each of its items. */
  readPublication(id: string, options?: CallOptions): Promise<{
    publication: Publication;
  }>;
  /** Replay the failed items of a publication, or publish to targets added since. */
  replayPublication(id: string, body: PublicationReplayInput, options?: CallOptions): Promise<PublicationReplay>;
  /** List endpoints, oldest first. */
  listEndpoints(options?: CallOptions): Promise<{
    endpoints: Endpoint[];
  }>;
  /** Create an endpoint; its signing secret is shown only in this answer. */
  createEndpoint(body: NewEndpoint, options?: CallOptions): Promise<{
    id: string;
    secret: string;
  }>;
  /** Read an endpoint. */
  readEndpoint(id: string, options?: CallOptions): Promise<{
    endpoint: Endpoint;
  }>;
  /** Change an endpoint. A disabled webhook or agent holds new items. Enabling it again makes all waiting items due at once, with their full retry schedule, and returns their number in held_items; with discard_held they become CANCELED instead. */
  updateEndpoint(id: string, body: EndpointChanges, options?: CallOptions): Promise<{
    endpoint: {
      id: string;
      name: string;
      url: string;
      description: string;
      /** The array of event types as JSON text; `[]` means all types */
      event_types: string;
      enabled: boolean;
      /** Unix seconds */
      updated_at: number;
      /** Only in the answer that enables a webhook or agent again: the number of items that waited for the target. They are delivered from now on, or are CANCELED with discard_held. Above 100,000 the real number may be larger. */
      held_items?: number;
    };
  }>;
  /** Delete an endpoint; its waiting items become CANCELED. */
  deleteEndpoint(id: string, options?: CallOptions): Promise<Deleted>;
  /** List a mailbox's messages, oldest first, without their payloads. Without `status`, lists messages that are UNREAD or CLAIMED. Does not claim them. */
  listMessages(mailboxId: string, options?: CallOptions & { /** UNREAD, CLAIMED, ACKNOWLEDGED, EXPIRED, DEAD */ status?: string; limit?: number; /** The id of the last message of the previous page. If that message was canceled or erased meanwhile, messages of the minute before it may appear again */ after?: string }): Promise<{
    messages: MessageSummary[];
  }>;
  /** Read a message and its payload. Changes nothing. */
  readMessage(messageId: string, options?: CallOptions): Promise<Message>;
  /** Claim a message. The lease lasts five minutes unless the operator configured another length. The request has no `lease_seconds`; use `extend` for a lease of another length. */
  claimMessage(messageId: string, options?: CallOptions): Promise<ClaimedMessage>;
  /** Acknowledge a message that this API key has claimed. With `claim_token`, the message's claim must be the one with this token; without it, any active claim of this API key is accepted. Acknowledging again gives the same answer. */
  acknowledgeMessage(messageId: string, body?: {
    claim_token?: string;
  }, options?: CallOptions): Promise<{
    id: string;
    status: "ACKNOWLEDGED";
  }>;
  /** Claim the oldest messages of a mailbox, optionally with a long poll. Returns the claimable messages, at most `max`. If none is claimable, the request waits up to `wait_seconds` for a message, and then returns an empty list. A repeated request with the same `Claim-Id` returns the messages of that claim that are still claimed, so that a lost answer does not lose the claim. */
  claimMessages(mailboxId: string, body?: {
    /** Default: 1 */
    max?: number;
    /** Default: 0 */
    wait_seconds?: number;
    lease_seconds?: number;
  }, options?: CallOptions & { /** 1 to 255 characters: the idempotency key of this claim */ claimId?: string }): Promise<Claim>;
  /** Acknowledge claimed messages. Every message has its own result, in the order of the request: a stale `claim_token` gets 409 and does not affect the other messages. */
  acknowledgeMessages(mailboxId: string, body: {
    messages: {
      id: string;
      claim_token: string;
    }[];
  }, options?: CallOptions): Promise<ClaimResults>;
  /** Extend the leases of claimed messages, counted from now. Every message has its own result, in the order of the request: a stale `claim_token` gets 409 and does not affect the other messages. */
  extendClaims(mailboxId: string, body: {
    messages: {
      id: string;
      claim_token: string;
    }[];
    lease_seconds?: number;
  }, options?: CallOptions): Promise<ClaimResults>;
  /** Release claimed messages, claimable at once or after a delay. Every message has its own result, in the order of the request: a stale `claim_token` gets 409 and does not affect the other messages. A message that has used up its allowed claims becomes dead, and its `dead_reason` contains the reason. */
  releaseMessages(mailboxId: string, body: {
    messages: {
      id: string;
      claim_token: string;
    }[];
    delay_seconds?: number;
    reason?: string;
  }, options?: CallOptions): Promise<ClaimResults>;
  /** Reject claimed messages: they become dead, with a reason. Every message has its own result, in the order of the request: a stale `claim_token` gets 409 and does not affect the other messages. */
  rejectMessages(mailboxId: string, body: {
    messages: {
      id: string;
      claim_token: string;
      reason?: string;
    }[];
    reason?: string;
  }, options?: CallOptions): Promise<ClaimResults>;
  /** Redrive dead messages of a mailbox, oldest first. The messages become UNREAD again, at their old position, as if they had never been claimed. */
  redriveMessages(mailboxId: string, body?: {
    /** Ids of dead messages; without `ids`, any dead messages */
    messages?: string[];
    limit?: number;
  }, options?: CallOptions): Promise<{
    redriven: number;
  }>;
  /** Read a mailbox's message counts and rates. */
  readMailboxStats(mailboxId: string, options?: CallOptions): Promise<MailboxStats>;
  /** End a consumer's claim on a message. The message becomes claimable at once, or dead if this was the last claim that its mailbox allows. The consumer's later requests with this claim are refused, as after a lapsed lease. `interventions` names the user. */
  forceRelease(mailboxId: string, messageId: string, options?: CallOptions): Promise<Message>;
  /** Reject a message, even if another consumer has claimed the message. The message becomes dead, even if it was not claimed. A consumer's claim ends; the next message with the same ordering key becomes claimable. `interventions` names the user, and `redrive` makes the message claimable again. */
  forceReject(mailboxId: string, messageId: string, body: {
    reason: string;
  }, options?: CallOptions): Promise<Message>;
  /** List events, newest or oldest first. Returns one page, without a total count. An id that is not a target of the organization matches no events. */
  listEvents(options?: CallOptions & { limit?: number; /** Number of events to skip. A large number is slow; prefer the cursors `before` and `after` */ offset?: number; /** desc: newest first; asc: oldest first */ order?: "desc" | "asc"; /** Only events older than the event with this id */ before?: string; /** Only events newer than the event with this id: the next page in the order oldest first */ after?: string; /** Only events of this target */ endpoint_id?: string; /** The same as endpoint_id */ target_id?: string; /** Only events of targets of this customer */ customer_uid?: string; /** The states from UNREAD on are those of mailbox messages */ status?: "QUEUED" | "RETRYING" | "DELIVERED" | "FAILED" | "FILTERED" | "CANCELED" | "UNREAD" | "CLAIMED" | "ACKNOWLEDGED" | "EXPIRED" | "DEAD"; /** Only events of this type */ event_type?: string; correlation_id?: string; /** Only items of agents whose task has this state, such as WORKING, INPUT_REQUIRED or COMPLETED; a task whose outcome is UNKNOWN keeps its last state */ handoff_state?: string; /** Only events accepted at or after this, in Unix seconds */ created_after?: number; /** Only events accepted before this, in Unix seconds */ created_before?: number; /** Only events that this replay of many events created */ replay_id?: string; /** Additional fields of each event, separated by commas: attempts, last_status_code, next_attempt_at, duration_ms, replayed_by, handoff */ fields?: string }): Promise<{
    events: EventSummary[];
  }>;
  /** Read an event and its delivery attempts. */
  readEvent(id: string, options?: CallOptions): Promise<{
    event: Event;
    delivery_attempts: DeliveryAttempt[];
    /** Only for a2a targets; null before the agent has accepted the item */
    handoff?: Handoff | null;
  }>;
  /** Read an event's payload, byte for byte. */
  readPayload(id: string, options?: CallOptions): Promise<unknown>;
  /** Replay an event: deliver its payload again as a new event that is not billed. The new event's deliveries keep the `webhook-id` of the source event, unless the body asks for a new `webhook-id`; `x-event-id` is the new event, `x-source-event-id` the source event. An event that is QUEUED or RETRYING cannot be replayed. */
  replayEvent(id: string, body?: {
    /** new: the deliveries get a new webhook-id, so that receivers process the event again. By default they keep the webhook-id of the source event, so that receivers that deduplicate process the event once */
    webhook_id?: "new";
  }, options?: CallOptions): Promise<Replay>;
  /** Cancel a waiting event. The event becomes CANCELED: it is no longer sent, or is removed from its mailbox. It is still billed, because it was accepted. */
  cancelEvent(id: string, options?: CallOptions): Promise<CanceledEvent>;
  /** Replay all events that match a filter, or count them. Runs in the background, on any node; if a node dies, another node continues. Each event that matches the filter becomes one new event, as with the replay of a single event: it is not billed, and has `source_event_id` and `replay_id`. Events that are accepted or end after the request are not included. With the status FAILED or DEAD, events that already have a replay in progress or a successful replay are left out, unless `include_replayed` is true. Events that cannot be replayed are counted as skipped. A target with many waiting items gets no more replays until it has caught up, so that new items are not delayed. At most 5 replays run at a time. */
  startReplay(body: NewReplay, options?: CallOptions): Promise<DryRun | ReplayJob>;
  /** List replays of many events, newest first. */
  listReplays(options?: CallOptions & { limit?: number; /** Only replays older than the one with this id */ before?: string }): Promise<{
    replays: ReplayJob[];
  }>;
  /** Read a replay of many events and its progress. */
  readReplay(id: string, options?: CallOptions): Promise<ReplayJob>;
  /** Cancel a replay of many events. Events that were already replayed are still delivered. The response is the same if the replay was already canceled. */
  cancelReplay(id: string, options?: CallOptions): Promise<ReplayJob>;
  /** Answer an agent's task that waits for input. The body becomes a message to the task, in the same way as an item's body. Not billed. A repeated request with the same Idempotency-Key is sent to the agent once, if the agent keeps the history of its task. */
  answerAgent(id: string, body: unknown, options?: CallOptions & { /** 1 to 255 characters */ idempotencyKey?: string }): Promise<{
    handoff: Handoff;
  }>;
  /** Ask an agent to cancel a task. The answer shows the task's state afterwards; an agent may need some time to cancel it. */
  cancelTask(id: string, options?: CallOptions): Promise<{
    handoff: Handoff;
  }>;
  /** Read statistics of accepted and delivered items. Steps without activity are omitted. If `target_id` is not a target of the organization, the response has no steps. */
  readStats(options?: CallOptions & { /** Only this target. Default: all targets of the organization */ target_id?: string; /** Unix seconds, rounded down to a step. Default: 24 hours before `to` */ from?: number; /** Unix seconds, rounded up to a step. Default: now */ to?: number; /** Length of a step in seconds: 60, 300, 3600, 86400. Default: depends on the range. A range has at most 1500 steps. Steps of these lengths are kept for 26 hours, 8 days, 63 days, 1100 days respectively */ step?: number }): Promise<Stats>;
  /** Read the caller's organization. */
  readOrganization(options?: CallOptions): Promise<{
    org: Organization;
  }>;
  /** Update the caller's organization. */
  renameOrganization(body: {
    name?: string;
    /** Whether admins can read the signing secrets of existing targets; the audit log records each time that an admin does. Requires an admin's session token, not an API key */
    secrets_can_be_revealed?: boolean;
  }, options?: CallOptions): Promise<{
    updated: true;
  }>;
  /** List the members of the organization, oldest first. */
  listMembers(options?: CallOptions & { limit?: number; /** The id of the last member of the previous page */ after?: string }): Promise<{
    members: Member[];
  }>;
  /** Change the role of a member. The new role applies from the member's next request. The status is 503, with `Retry-After`, while a process of an older version that does not know roles is running. */
  changeRole(id: string, body: {
    role: "viewer" | "member" | "admin";
  }, options?: CallOptions): Promise<Member>;
  /** Remove a member. Immediately deletes the account of the member and ends all sessions of the member. API keys belong to the organization and stay valid. */
  removeMember(id: string, options?: CallOptions): Promise<Deleted>;
  /** List invitations, newest first. Invitations that were accepted or revoked, or have expired, stay in the list for some weeks. */
  listInvitations(options?: CallOptions & { limit?: number; /** Only invitations older than the one with this id */ before?: string }): Promise<{
    invitations: Invitation[];
  }>;
  /** Create an invitation to the organization. The service sends no email: send the token or the link to the invited person yourself. The invitation works once and expires after seven days. If `email` is given, only this address can accept the invitation. The status is 503, with `Retry-After`, while a process of an older version that does not know roles is running. */
  createInvitation(body: {
    role: "viewer" | "member" | "admin";
    email?: string;
  }, options?: CallOptions): Promise<NewInvitation>;
  /** Revoke an invitation. The response is the same if the invitation was already revoked or has expired. */
  revokeInvitation(id: string, options?: CallOptions): Promise<Deleted>;
  /** Accept an invitation. Creates a user of the organization, and starts a session. A user belongs to one organization: if the address already has an account, the response has only `message`, as at signup, and the invitation stays open. Rate limited per client address, as logins are. */
  acceptInvitation(body: {
    token: string;
    /** Required if the invitation has no address */
    email?: string;
    password: string;
    /** Default: the local part of the email */
    name?: string;
  }, options?: CallOptions): Promise<{
    user: User;
    session_token: string;
  } | {
    message: string;
  }>;
  /** List the entries of the audit log, newest first. The audit log records changes of configuration, credentials and billing state. Each entry is written in the transaction of its change. Entries contain no secrets: of a URL, only the origin and a fingerprint are stored. Entries are kept for `POSTRIDER_AUDIT_RETENTION_DAYS` days. */
  listAuditLog(options?: CallOptions & { limit?: number; /** Only entries older than the one with this id */ before?: string; action?: "organization.created" | "organization.renamed" | "organization.revealing_changed" | "session.started" | "session.refused" | "session.ended" | "sessions.ended" | "password.changed" | "password.change_refused" | "password.reset" | "password.reset_requested" | "key.created" | "key.deleted" | "member.joined" | "member.role_changed" | "member.removed" | "invitation.created" | "invitation.revoked" | "customer.created" | "customer.updated" | "customer.deleted" | "event_type.created" | "event_type.updated" | "event_type.deleted" | "portal_link.created" | "portal_session.started" | "portal_session.ended" | "portal_sessions.ended" | "portal_settings.saved" | "target.created" | "target.updated" | "target.deleted" | "target.disabled" | "target.secret_rotated" | "target.previous_secret_deleted" | "target.secret_revealed" | "target.card_replaced" | "notification_target.saved" | "notification_target.removed" | "billing.state_changed" | "billing.batch_settled"; /** Id of a user, an API key or a customer */ actor_id?: string; /** Id of the changed object, such as a target */ object_id?: string; /** Only changes at or after this time, in Unix seconds */ created_after?: number; /** Only changes before this time, in Unix seconds */ created_before?: number }): Promise<{
    entries: AuditEntry[];
  }>;
  /** Erase the payload and the recorded responses of an event. Erases the event, its replays, and the event that reported the result of its handoff. The data is gone when the response is sent. Ids, type, status and timestamps stay. An event that has not ended becomes CANCELED first, even while it is being sent. A repeated request gets the same response. */
  eraseEvent(id: string, options?: CallOptions): Promise<Erasure>;
  /** Erase the payloads and the recorded responses of all events with a correlation id. Erases the events that were accepted before the request. The erasure runs in the background, continues after a restart, and reports its progress. */
  createErasure(body: {
    correlation_id: string;
  }, options?: CallOptions): Promise<Erasure>;
  /** List erasures, newest first. */
  listErasures(options?: CallOptions & { limit?: number; /** Only erasures older than the one with this id */ before?: string }): Promise<{
    erasures: Erasure[];
  }>;
  /** Read an erasure and its progress. */
  readErasure(id: string, options?: CallOptions): Promise<Erasure>;
  /** List the targets that receive operational events, newest first. */
  listNotificationTargets(options?: CallOptions & { limit?: number; /** Only notification targets older than the one with this id */ before?: string }): Promise<{
    notification_targets: NotificationTarget[];
  }>;
  /** Subscribe a webhook or mailbox to operational events. The target receives operational events as items, which are signed, retried, and listed with the other events, but not billed. A repeated request for the same target replaces its `event_types`. A target receives no operational events about itself or about items that are operational events. */
  saveNotificationTarget(body: {
    target_id: string;
    /** Default: all operational events */
    event_types?: ("target.disabled" | "target.recovered" | "event.failed" | "mailbox.message_dead" | "handoff.input_required")[];
  }, options?: CallOptions): Promise<NotificationTarget>;
  /** Unsubscribe a target from operational events. The target itself is not changed. */
  removeNotificationTarget(id: string, options?: CallOptions): Promise<Deleted>;
  /** Read the billing state and the price. */
  readBilling(options?: CallOptions): Promise<Billing>;
  /** Get the URL of a hosted page to set up payment. The request body is ignored: the service sets the price and the return URLs. The status is 503 while live billing is disabled, and 409 if the organization is exempt from billing or already has a subscription. */
  openCheckout(options?: CallOptions): Promise<{
    url: string;
  }>;
  /** Get a short-lived URL of the payment processor's customer portal. The status is 503 while live billing is disabled, and 409 if payment is not set up yet, or the customer was deleted at the payment processor. */
  openPortal(options?: CallOptions): Promise<{
    url: string;
  }>;
  /** List up to 12 recent invoices. */
  listInvoices(options?: CallOptions): Promise<{
    invoices: Invoice[];
    billing_enabled: boolean;
  }>;
  /** Compare the local ledger with the payment processor. The status is `reconciled` only if no item waits for export and the total of the processor is equal to the local total. `pending` does not mean lost usage: the processor counts with a delay. */
  reconcile(options?: CallOptions): Promise<Reconciliation>;
  /** Read the usage of the current month. */
  readUsage(options?: CallOptions): Promise<{
    usage: Usage;
  }>;
}

/** How each operation becomes an HTTP request. */
export const operationTable = {
  signUp: { method: "POST", path: "/api/v1/auth/signup", hasBody: true, headers: {}, query: [], idempotent: false },
  logIn: { method: "POST", path: "/api/v1/auth/login", hasBody: true, headers: {}, query: [], idempotent: false, answer: "user" },
  logOut: { method: "POST", path: "/api/v1/auth/logout", hasBody: false, headers: {}, query: [], idempotent: true, answer: "ok" },
  logOutAll: { method: "POST", path: "/api/v1/auth/logout-all", hasBody: false, headers: {}, query: [], idempotent: true, answer: "ok" },
  changePassword: { method: "POST", path: "/api/v1/auth/password", hasBody: true, headers: {}, query: [], idempotent: false, answer: "ok" },
  requestPasswordReset: { method: "POST", path: "/api/v1/auth/password-reset", hasBody: true, headers: {}, query: [], idempotent: false, answer: "message" },
  confirmPasswordReset: { method: "POST", path: "/api/v1/auth/password-reset/confirm", hasBody: true, headers: {}, query: [], idempotent: false, answer: "ok" },
  readMe: { method: "GET", path: "/api/v1/auth/me", hasBody: false, headers: {}, query: [], idempotent: true, answer: "user" },
  createKey: { method: "POST", path: "/api/v1/keys", hasBody: true, headers: {}, query: [], idempotent: false, answer: "id" },
  listKeys: { method: "GET", path: "/api/v1/keys", hasBody: false, headers: {}, query: [], idempotent: true, answer: "keys" },
  deleteKey: { method: "DELETE", path: "/api/v1/keys/{id}", hasBody: false, headers: {}, query: [], idempotent: false, answer: "deleted" },
  listCustomers: { method: "GET", path: "/api/v1/customers", hasBody: false, headers: {}, query: ["limit", "after", "prefix"], idempotent: true, answer: "customers" },
  putCustomer: { method: "PUT", path: "/api/v1/customers/{uid}", hasBody: true, headers: {}, query: [], idempotent: false, answer: "uid" },
  readCustomer: { method: "GET", path: "/api/v1/customers/{uid}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "uid" },
  deleteCustomer: { method: "DELETE", path: "/api/v1/customers/{uid}", hasBody: false, headers: {}, query: [], idempotent: false, answer: "deleted" },
  tryFilter: { method: "POST", path: "/api/v1/filters/try", hasBody: true, headers: {}, query: [], idempotent: false, answer: "verdict" },
  listEventTypes: { method: "GET", path: "/api/v1/event-types", hasBody: false, headers: {}, query: ["limit", "after", "prefix", "deprecated"], idempotent: true, answer: "event_types" },
  importEventTypes: { method: "POST", path: "/api/v1/event-types/import", hasBody: true, headers: {}, query: ["dry_run"], idempotent: false, answer: "dry_run" },
  putEventType: { method: "PUT", path: "/api/v1/event-types/{name}", hasBody: true, headers: {}, query: [], idempotent: false, answer: "name" },
  readEventType: { method: "GET", path: "/api/v1/event-types/{name}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "name" },
  deleteEventType: { method: "DELETE", path: "/api/v1/event-types/{name}", hasBody: false, headers: {}, query: [], idempotent: false, answer: "deleted" },
  createPortalLink: { method: "POST", path: "/api/v1/customers/{uid}/portal-links", hasBody: false, headers: {}, query: [], idempotent: false, answer: "url" },
  endPortalSessions: { method: "DELETE", path: "/api/v1/customers/{uid}/portal-sessions", hasBody: false, headers: {}, query: [], idempotent: false, answer: "ended_sessions" },
  openPortalSession: { method: "POST", path: "/api/v1/portal/sessions", hasBody: true, headers: {}, query: [], idempotent: false, answer: "session_token" },
  readPortal: { method: "GET", path: "/api/v1/portal", hasBody: false, headers: {}, query: [], idempotent: true, answer: "organization" },
  leavePortal: { method: "DELETE", path: "/api/v1/portal/session", hasBody: false, headers: {}, query: [], idempotent: false, answer: "ok" },
  readPortalSettings: { method: "GET", path: "/api/v1/portal-settings", hasBody: false, headers: {}, query: [], idempotent: true, answer: "name" },
  savePortalSettings: { method: "PUT", path: "/api/v1/portal-settings", hasBody: true, headers: {}, query: [], idempotent: false, answer: "name" },
  listTargets: { method: "GET", path: "/api/v1/targets", hasBody: false, headers: {}, query: ["kind", "limit", "after", "customer_uid", "uid"], idempotent: true, answer: "targets" },
  createTarget: { method: "POST", path: "/api/v1/targets", hasBody: true, headers: {}, query: [], idempotent: false, answer: "id" },
  readTarget: { method: "GET", path: "/api/v1/targets/{id}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "id" },
  updateTarget: { method: "PATCH", path: "/api/v1/targets/{id}", hasBody: true, headers: {}, query: [], idempotent: true, answer: "id" },
  deleteTarget: { method: "DELETE", path: "/api/v1/targets/{id}", hasBody: false, headers: {}, query: [], idempotent: false, answer: "deleted" },
  refreshTarget: { method: "POST", path: "/api/v1/targets/{id}/refresh", hasBody: true, headers: {}, query: [], idempotent: true, answer: "id" },
  rotateSigningSecret: { method: "POST", path: "/api/v1/targets/{id}/signing-secret/rotate", hasBody: true, headers: {}, query: [], idempotent: false, answer: "id" },
  revealSigningSecret: { method: "POST", path: "/api/v1/targets/{id}/signing-secret/reveal", hasBody: false, headers: {}, query: [], idempotent: false, answer: "secret" },
  deletePreviousSigningSecret: { method: "DELETE", path: "/api/v1/targets/{id}/signing-secret/previous", hasBody: false, headers: {}, query: [], idempotent: true, answer: "deleted" },
  testTarget: { method: "POST", path: "/api/v1/targets/{id}/test", hasBody: true, headers: {}, query: [], idempotent: false, answer: "event_id" },
  listTryoutRequests: { method: "GET", path: "/api/v1/targets/{id}/tryout", hasBody: false, headers: {}, query: [], idempotent: true, answer: "requests" },
  readTargetHealth: { method: "GET", path: "/api/v1/targets/{id}/health", hasBody: false, headers: {}, query: [], idempotent: true, answer: "target_id" },
  listTargetHealth: { method: "GET", path: "/api/v1/target-health", hasBody: false, headers: {}, query: ["ids"], idempotent: true, answer: "targets" },
  sendItem: { method: "POST", path: "/t/{target_id}", hasBody: true, headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent", eventType: "x-event-type", correlationId: "x-correlation-id", orderingKey: "x-ordering-key" }, query: [], idempotent: false, key: "idempotencyKey", answer: "id" },
  sendEvent: { method: "POST", path: "/e/{endpoint_id}", hasBody: true, headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent", eventType: "x-event-type", correlationId: "x-correlation-id", orderingKey: "x-ordering-key" }, query: [], idempotent: false, key: "idempotencyKey", answer: "id" },
  publishToCustomer: { method: "POST", path: "/p/{customer}", hasBody: true, headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent", eventType: "x-event-type", correlationId: "x-correlation-id", orderingKey: "x-ordering-key" }, query: [], idempotent: false, key: "idempotencyKey", answer: "id" },
  publish: { method: "POST", path: "/p", hasBody: true, headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent", eventType: "x-event-type", correlationId: "x-correlation-id", orderingKey: "x-ordering-key" }, query: [], idempotent: false, key: "idempotencyKey", answer: "id" },
  listPublications: { method: "GET", path: "/api/v1/publications", hasBody: false, headers: {}, query: ["limit", "before", "customer_uid"], idempotent: true, answer: "publications" },
  readPublication: { method: "GET", path: "/api/v1/publications/{id}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "publication" },
  replayPublication: { method: "POST", path: "/api/v1/publications/{id}/replay", hasBody: true, headers: {}, query: [], idempotent: false, answer: "items" },
  listEndpoints: { method: "GET", path: "/api/v1/endpoints", hasBody: false, headers: {}, query: [], idempotent: true, answer: "endpoints" },
  createEndpoint: { method: "POST", path: "/api/v1/endpoints", hasBody: true, headers: {}, query: [], idempotent: false, answer: "id" },
  readEndpoint: { method: "GET", path: "/api/v1/endpoints/{id}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "endpoint" },
  updateEndpoint: { method: "PATCH", path: "/api/v1/endpoints/{id}", hasBody: true, headers: {}, query: [], idempotent: true, answer: "endpoint" },
  deleteEndpoint: { method: "DELETE", path: "/api/v1/endpoints/{id}", hasBody: false, headers: {}, query: [], idempotent: false, answer: "deleted" },
  listMessages: { method: "GET", path: "/api/v1/mailboxes/{mailbox_id}/messages", hasBody: false, headers: {}, query: ["status", "limit", "after"], idempotent: true, answer: "messages" },
  readMessage: { method: "GET", path: "/api/v1/mailbox-messages/{message_id}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "id" },
  claimMessage: { method: "POST", path: "/api/v1/mailbox-messages/{message_id}/claim", hasBody: false, headers: {}, query: [], idempotent: false, answer: "id" },
  acknowledgeMessage: { method: "POST", path: "/api/v1/mailbox-messages/{message_id}/ack", hasBody: true, headers: {}, query: [], idempotent: true, answer: "id" },
  claimMessages: { method: "POST", path: "/api/v1/mailboxes/{mailbox_id}/claim", hasBody: true, headers: { claimId: "claim-id" }, query: [], idempotent: false, key: "claimId", answer: "messages" },
  acknowledgeMessages: { method: "POST", path: "/api/v1/mailboxes/{mailbox_id}/ack", hasBody: true, headers: {}, query: [], idempotent: true, answer: "results" },
  extendClaims: { method: "POST", path: "/api/v1/mailboxes/{mailbox_id}/extend", hasBody: true, headers: {}, query: [], idempotent: true, answer: "results" },
  releaseMessages: { method: "POST", path: "/api/v1/mailboxes/{mailbox_id}/release", hasBody: true, headers: {}, query: [], idempotent: true, answer: "results" },
  rejectMessages: { method: "POST", path: "/api/v1/mailboxes/{mailbox_id}/reject", hasBody: true, headers: {}, query: [], idempotent: true, answer: "results" },
  redriveMessages: { method: "POST", path: "/api/v1/mailboxes/{mailbox_id}/redrive", hasBody: true, headers: {}, query: [], idempotent: false, answer: "redriven" },
  readMailboxStats: { method: "GET", path: "/api/v1/mailboxes/{mailbox_id}/stats", hasBody: false, headers: {}, query: [], idempotent: true, answer: "ready" },
  forceRelease: { method: "POST", path: "/api/v1/mailboxes/{mailbox_id}/messages/{message_id}/force-release", hasBody: false, headers: {}, query: [], idempotent: false, answer: "id" },
  forceReject: { method: "POST", path: "/api/v1/mailboxes/{mailbox_id}/messages/{message_id}/force-reject", hasBody: true, headers: {}, query: [], idempotent: false, answer: "id" },
  listEvents: { method: "GET", path: "/api/v1/events", hasBody: false, headers: {}, query: ["limit", "offset", "order", "before", "after", "endpoint_id", "target_id", "customer_uid", "status", "event_type", "correlation_id", "handoff_state", "created_after", "created_before", "replay_id", "fields"], idempotent: true, answer: "events" },
  readEvent: { method: "GET", path: "/api/v1/events/{id}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "event" },
  readPayload: { method: "GET", path: "/api/v1/events/{id}/payload", hasBody: false, headers: {}, query: [], idempotent: true },
  replayEvent: { method: "POST", path: "/api/v1/events/{id}/replay", hasBody: true, headers: {}, query: [], idempotent: false, answer: "id" },
  cancelEvent: { method: "POST", path: "/api/v1/events/{id}/cancel", hasBody: false, headers: {}, query: [], idempotent: false, answer: "id" },
  startReplay: { method: "POST", path: "/api/v1/replays", hasBody: true, headers: {}, query: [], idempotent: false },
  listReplays: { method: "GET", path: "/api/v1/replays", hasBody: false, headers: {}, query: ["limit", "before"], idempotent: true, answer: "replays" },
  readReplay: { method: "GET", path: "/api/v1/replays/{id}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "id" },
  cancelReplay: { method: "POST", path: "/api/v1/replays/{id}/cancel", hasBody: false, headers: {}, query: [], idempotent: true, answer: "id" },
  answerAgent: { method: "POST", path: "/api/v1/events/{id}/handoff/message", hasBody: true, headers: { idempotencyKey: "idempotency-key" }, query: [], idempotent: false, key: "idempotencyKey", answer: "handoff" },
  cancelTask: { method: "POST", path: "/api/v1/events/{id}/handoff/cancel", hasBody: false, headers: {}, query: [], idempotent: false, answer: "handoff" },
  readStats: { method: "GET", path: "/api/v1/stats", hasBody: false, headers: {}, query: ["target_id", "from", "to", "step"], idempotent: true, answer: "from" },
  readOrganization: { method: "GET", path: "/api/v1/orgs", hasBody: false, headers: {}, query: [], idempotent: true, answer: "org" },
  renameOrganization: { method: "PATCH", path: "/api/v1/orgs", hasBody: true, headers: {}, query: [], idempotent: true, answer: "updated" },
  listMembers: { method: "GET", path: "/api/v1/members", hasBody: false, headers: {}, query: ["limit", "after"], idempotent: true, answer: "members" },
  changeRole: { method: "PATCH", path: "/api/v1/members/{id}", hasBody: true, headers: {}, query: [], idempotent: true, answer: "id" },
  removeMember: { method: "DELETE", path: "/api/v1/members/{id}", hasBody: false, headers: {}, query: [], idempotent: false, answer: "deleted" },
  listInvitations: { method: "GET", path: "/api/v1/invitations", hasBody: false, headers: {}, query: ["limit", "before"], idempotent: true, answer: "invitations" },
  createInvitation: { method: "POST", path: "/api/v1/invitations", hasBody: true, headers: {}, query: [], idempotent: false, answer: "id" },
  revokeInvitation: { method: "DELETE", path: "/api/v1/invitations/{id}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "deleted" },
  acceptInvitation: { method: "POST", path: "/api/v1/invitations/accept", hasBody: true, headers: {}, query: [], idempotent: false },
  listAuditLog: { method: "GET", path: "/api/v1/audit-log", hasBody: false, headers: {}, query: ["limit", "before", "action", "actor_id", "object_id", "created_after", "created_before"], idempotent: true, answer: "entries" },
  eraseEvent: { method: "POST", path: "/api/v1/events/{id}/erase", hasBody: false, headers: {}, query: [], idempotent: false, answer: "id" },
  createErasure: { method: "POST", path: "/api/v1/erasures", hasBody: true, headers: {}, query: [], idempotent: false, answer: "id" },
  listErasures: { method: "GET", path: "/api/v1/erasures", hasBody: false, headers: {}, query: ["limit", "before"], idempotent: true, answer: "erasures" },
  readErasure: { method: "GET", path: "/api/v1/erasures/{id}", hasBody: false, headers: {}, query: [], idempotent: true, answer: "id" },
  listNotificationTargets: { method: "GET", path: "/api/v1/notification-targets", hasBody: false, headers: {}, query: ["limit", "before"], idempotent: true, answer: "notification_targets" },
  saveNotificationTarget: { method: "POST", path: "/api/v1/notification-targets", hasBody: true, headers: {}, query: [], idempotent: false, answer: "id" },
  removeNotificationTarget: { method: "DELETE", path: "/api/v1/notification-targets/{id}", hasBody: false, headers: {}, query: [], idempotent: false, answer: "deleted" },
  readBilling: { method: "GET", path: "/api/v1/billing", hasBody: false, headers: {}, query: [], idempotent: true, answer: "status" },
  openCheckout: { method: "POST", path: "/api/v1/billing/checkout", hasBody: false, headers: {}, query: [], idempotent: false, answer: "url" },
  openPortal: { method: "GET", path: "/api/v1/billing/portal", hasBody: false, headers: {}, query: [], idempotent: true, answer: "url" },
  listInvoices: { method: "GET", path: "/api/v1/billing/invoices", hasBody: false, headers: {}, query: [], idempotent: true, answer: "invoices" },
  reconcile: { method: "GET", path: "/api/v1/billing/reconciliation", hasBody: false, headers: {}, query: [], idempotent: true, answer: "status" },
  readUsage: { method: "GET", path: "/api/v1/usage", hasBody: false, headers: {}, query: [], idempotent: true, answer: "usage" },
} as const satisfies Record<keyof Operations, OperationRow>;
