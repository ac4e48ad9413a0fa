import type { FastifyInstance } from "fastify";
import { authRoutes } from "./accounts/authRoutes.ts";
import { keyRoutes } from "./accounts/keyRoutes.ts";
import { organizationRoutes } from "./accounts/organizationRoutes.ts";
import { resetRoutes } from "./accounts/resetRoutes.ts";
import { auditRoutes } from "./audit/routes.ts";
import type { Passwords } from "./accounts/passwords.ts";
import { billingRoutes } from "./billing/routes.ts";
import type { Config } from "./config/config.ts";
import type { Cells } from "./postgres/cells.ts";
import type { Queries } from "./postgres/tables.ts";
import { eventRoutes } from "./events/routes.ts";
import { eventTypeRoutes } from "./eventTypes/routes.ts";
import type { Handoffs } from "./handoff/handoffs.ts";
import { handoffRoutes } from "./handoff/routes.ts";
import { routedByCell } from "./http/routedByCell.ts";
import { addDashboard } from "./http/dashboard.ts";
import { addDocumentation } from "./http/reference/documentation.ts";
import { type HealthDeps, healthRoutes } from "./http/health.ts";
import type { RouteRow, ServerDeps } from "./http/contract/routeTable.ts";
import { withScopes } from "./http/scopedRoutes.ts";
import { addConnections, addRoutes, createServer } from "./http/server.ts";
import type { Intake } from "./intake/intake.ts";
import { intakeRoutes } from "./intake/routes.ts";
import { publicationRoutes, publishRoutes } from "./publications/routes.ts";
import { consumerRoutes } from "./mailbox/consumerRoutes.ts";
import type { Mailer } from "./mail/mailer.ts";
import type { Mailboxes } from "./mailbox/mailboxes.ts";
import { handRoutes } from "./mailbox/handRoutes.ts";
import { mailboxRoutes } from "./mailbox/routes.ts";
import { type McpRouteDeps, mcpRoutes, refuseOtherMethods } from "./mcp/routes.ts";
import { invitationRoutes } from "./members/invitationRoutes.ts";
import { memberRoutes } from "./members/routes.ts";
import type { ParsedNetworks } from "./outbound/addressGuard.ts";
import type { Outbound } from "./outbound/outbound.ts";
import { erasureRoutes } from "./erasures/routes.ts";
import { notificationRoutes } from "./notifications/routes.ts";
import { endpointRoutes } from "./targets/endpointRoutes.ts";
import { replayRoutes } from "./replays/routes.ts";
import { statsRoutes } from "./stats/routes.ts";
import { customerRoutes } from "./customers/routes.ts";
import { portalRoutes } from "./portal/routes.ts";
import { readFraming } from "./portal/settings.ts";
import { filterRoutes } from "./filters/routes.ts";
import { targetRoutes } from "./targets/routes.ts";
import { testRoutes } from "./testsend/routes.ts";
import { tryoutRoutes } from "./tryout/routes.ts";
import type { Changes } from "./items/changes.ts";
import type { ConsumerTraces } from "./mailbox/traceConsumers.ts";
import type { Traces } from "./telemetry/traces.ts";
import { type StreamRouteDeps, streamRoutes } from "./stream/routes.ts";
import type { SecretBox } from "./items/secretBox.ts";
import type { UpgradeGate } from "./items/upgradeGate.ts";

/** What the interface is made of. Features take the parts they need; `assemble.ts` makes them all. */
export interface AppDeps extends ServerDeps, HealthDeps, StreamRouteDeps, McpRouteDeps {
  config: Config;
  queries: Queries;
  passwords: Passwords;
  /** Absent where the operator has set no mail server. */
  mailer?: Mailer | undefined;
  box: SecretBox;
  filterGate: UpgradeGate;
  outbound: Outbound;
  /** Networks exempt from the address guard. */
  networks: ParsedNetworks;
  intake: Intake;
  mailboxes: Mailboxes;
  changes: Changes;
  /** What notes the traces of items and of their consumers; absent when nothing is traced. */
  traces?: Traces | undefined;
  consumerTraces?: ConsumerTraces | undefined;
  handoffs?: Handoffs;
  nowMs: () => number;
  randomBytes: (size: number) => Buffer;
  /** Tells the local dispatcher that something became due. */
  onDue: () => void;
  /** Tells the local worker that there is a new replay of many events. */
  onReplay: () => void;
  /** Tells the local billing worker that the payment processor sent a notice. */
  onBillingEvent: () => void;
}

/**
 * The whole HTTP interface, ready to listen.
 * @param parts what each cell answers with, in the order of `cells`; the first one's also answer whoever is of no organization.
 */
export function createApp(parts: readonly Omit<AppDeps, "app">[], cells: Cells): FastifyInstance {
  const app = createServer(parts[0]!);
  const [deps, ...others] = parts.map((part): AppDeps => ({ ...part, app: () => app }));
  const rows = routedByCell(interfaceTable(deps!), others.map(interfaceTable), cells);
  addRoutes(app, deps!, rows);
  addConnections(app, deps!, rows);
  refuseOtherMethods(app);
  addDocumentation(app, rows);
  const framingOf = (orgId: string) => readFraming(deps!.pool, orgId);
  if (deps!.config.dashboard && !addDashboard(app, { config: deps!.config, framingOf }))
    deps!.log.warn({}, notBuilt);
  return app;
}

const notBuilt =
  "the dashboard is not built, so that only the interface is served; run: npm ci, without --omit=dev";

/** Every route with the credential it takes, in the order of the interface's document; `scopedRoutes.ts` has the limited ones. */
export function interfaceTable(deps: AppDeps): RouteRow[] {
  const targets = targetRoutes(deps);
  const customers = customerRoutes(deps);
  const intake = intakeRoutes(deps);
  const endpoints = endpointRoutes(deps);
  const events = eventRoutes(deps);
  const handoffs = handoffRoutes(deps);
  const tryout = tryoutRoutes(deps);
  const stats = statsRoutes(deps);
  const streams = streamRoutes(deps);
  return withScopes([
    ...accountRows(deps),

    ["GET", "/api/v1/customers", "either", customers.list],
    ["PUT", "/api/v1/customers/:uid", "either", customers.put],
    ["GET", "/api/v1/customers/:uid", "either", customers.read],
    ["DELETE", "/api/v1/customers/:uid", "either", customers.remove],
    ["POST", "/api/v1/filters/try", "either", filterRoutes().tryOut, "viewer"],

    ...eventTypeRows(deps),
    ...portalRows(deps),

    ["GET", "/api/v1/targets", "either", targets.list],
    ["POST", "/api/v1/targets", "either", targets.create],
    ["GET", "/api/v1/targets/:id", "either", targets.read],
    ["PATCH", "/api/v1/targets/:id", "either", targets.update],
    ["DELETE", "/api/v1/targets/:id", "either", targets.remove],
    ["POST", "/api/v1/targets/:id/refresh", "either", targets.refresh],
    ["POST", "/api/v1/targets/:id/signing-secret/rotate", "either", targets.rotate],
    ["POST", "/api/v1/targets/:id/signing-secret/reveal", "session", targets.reveal, "admin"],
    ["DELETE", "/api/v1/targets/:id/signing-secret/previous", "either", targets.deletePrevious],
    ["POST", "/api/v1/targets/:id/test", "either", testRoutes(deps).send],
    ["GET", "/api/v1/targets/:id/tryout", "either", tryout.list],
    ["GET", "/api/v1/targets/:id/health", "either", stats.health],
    ["GET", "/api/v1/target-health", "either", stats.healths],

    ["POST", "/t/:target_id", "apiKeyInSql", intake.target],
    ["POST", "/e/:endpoint_id", "apiKeyInSql", intake.endpoint],
    ...publicationRows(deps),

    ["GET", "/api/v1/endpoints", "either", endpoints.list],
    ["POST", "/api/v1/endpoints", "either", endpoints.create],
    ["GET", "/api/v1/endpoints/:id", "either", endpoints.read],
    ["PATCH", "/api/v1/endpoints/:id", "either", endpoints.update],
    ["DELETE", "/api/v1/endpoints/:id", "either", endpoints.remove],

    ...mailboxRows(deps),

    ["GET", "/api/v1/events", "either", events.list],
    ["GET", "/api/v1/events/:id", "either", events.read],
    ["GET", "/api/v1/events/:id/payload", "either", events.payload],
    ["POST", "/api/v1/events/:id/replay", "either", events.replay],
    ["POST", "/api/v1/events/:id/cancel", "either", events.cancel],
    ...replayRows(deps),
    ["POST", "/api/v1/events/:id/handoff/message", "either", handoffs.answer],
    ["POST", "/api/v1/events/:id/handoff/cancel", "either", handoffs.cancel],
    ["GET", "/api/v1/stream", "either", streams.open],
    ["POST", "/a2a/notifications/:token", "none", handoffs.notified],

    ["GET", "/api/v1/stats", "either", stats.read],

    ...memberRows(deps),
    ...doingRows(deps),
    ...billingRows(deps),
    ...operationRows(deps),
  ]);
}

function accountRows(deps: AppDeps): RouteRow[] {
  const auth = authRoutes(deps);
  const reset = resetRoutes(deps);
  const keys = keyRoutes(deps);
  return [
    ["POST", "/api/v1/auth/signup", "none", auth.signup],
    ["POST", "/api/v1/auth/login", "none", auth.login],
    ["POST", "/api/v1/auth/logout", "session", auth.logout, "viewer"],
    ["POST", "/api/v1/auth/logout-all", "either", auth.logoutAll, "viewer"],
    ["POST", "/api/v1/auth/password", "session", auth.password, "viewer"],
    ["POST", "/api/v1/auth/password-reset", "none", reset.request],
    ["POST", "/api/v1/auth/password-reset/confirm", "none", reset.confirm],
    ["GET", "/api/v1/auth/me", "either", auth.me],

    ["POST", "/api/v1/keys", "session", keys.create, "admin"],
    ["GET", "/api/v1/keys", "either", keys.list],
    ["DELETE", "/api/v1/keys/:id", "either", keys.delete, "admin"],
  ];
}

function eventTypeRows(deps: AppDeps): RouteRow[] {
  const eventTypes = eventTypeRoutes(deps);
  return [
    ["GET", "/api/v1/event-types", "either", eventTypes.list],
    ["POST", "/api/v1/event-types/import", "either", eventTypes.import],
    ["PUT", "/api/v1/event-types/:name", "either", eventTypes.put],
    ["GET", "/api/v1/event-types/:name", "either", eventTypes.read],
    ["DELETE", "/api/v1/event-types/:name", "either", eventTypes.remove],
  ];
}

function memberRows(deps: AppDeps): RouteRow[] {
  const organization = organizationRoutes(deps);
  const members = memberRoutes(deps);
  const invitations = invitationRoutes(deps);
  const audit = auditRoutes(deps);
  return [
    ["GET", "/api/v1/orgs", "either", organization.read],
    ["PATCH", "/api/v1/orgs", "either", organization.change, "admin"],
    ["GET", "/api/v1/members", "either", members.list],
    ["PATCH", "/api/v1/members/:id", "session", members.changeRole, "admin"],
    ["DELETE", "/api/v1/members/:id", "session", members.remove, "admin"],
    ["GET", "/api/v1/invitations", "either", invitations.list, "admin"],
    ["POST", "/api/v1/invitations", "session", invitations.create, "admin"],
    ["DELETE", "/api/v1/invitations/:id", "session", invitations.revoke, "admin"],
    ["POST", "/api/v1/invitations/accept", "none", invitations.accept],
    ["GET", "/api/v1/audit-log", "either", audit.list, "admin"],
  ];
}

function portalRows(deps: AppDeps): RouteRow[] {
  const portal = portalRoutes(deps);
  return [
    ["POST", "/api/v1/customers/:uid/portal-links", "either", portal.link],
    ["DELETE", "/api/v1/customers/:uid/portal-sessions", "either", portal.endSessions],
    ["POST", "/api/v1/portal/sessions", "none", portal.exchange],
    ["GET", "/api/v1/portal", "portal", portal.read],
    ["DELETE", "/api/v1/portal/session", "portal", portal.leave],
    ["GET", "/api/v1/portal-settings", "either", portal.settings],
    ["PUT", "/api/v1/portal-settings", "either", portal.saveSettings, "admin"],
  ];
}

function publicationRows(deps: AppDeps): RouteRow[] {
  const publish = publishRoutes(deps);
  const publications = publicationRoutes(deps);
  return [
    ["POST", "/p/:customer", "apiKeyInSql", publish.toCustomer],
    ["POST", "/p", "apiKeyInSql", publish.toOwn],
    ["GET", "/api/v1/publications", "either", publications.list],
    ["GET", "/api/v1/publications/:id", "either", publications.read],
    ["POST", "/api/v1/publications/:id/replay", "either", publications.replay],
  ];
}

function replayRows(deps: AppDeps): RouteRow[] {
  const replays = replayRoutes(deps);
  return [
    ["POST", "/api/v1/replays", "either", replays.start],
    ["GET", "/api/v1/replays", "either", replays.list],
    ["GET", "/api/v1/replays/:id", "either", replays.read],
    ["POST", "/api/v1/replays/:id/cancel", "either", replays.cancel],
  ];
}

function mailboxRows(deps: AppDeps): RouteRow[] {
  const mailboxes = mailboxRoutes(deps);
  const consumers = consumerRoutes(deps);
  const hands = handRoutes(deps);
  return [
    ["GET", "/api/v1/mailboxes/:mailbox_id/messages", "either", mailboxes.list],
    ["GET", "/api/v1/mailbox-messages/:message_id", "either", mailboxes.read],
    ["POST", "/api/v1/mailbox-messages/:message_id/claim", "apiKeyInSql", mailboxes.claim],
    ["POST", "/api/v1/mailbox-messages/:message_id/ack", "apiKeyInSql", mailboxes.acknowledge],
    ["POST", "/api/v1/mailboxes/:mailbox_id/claim", "apiKeyInSql", consumers.claim],
    ["POST", "/api/v1/mailboxes/:mailbox_id/ack", "apiKeyInSql", consumers.acknowledge],
    ["POST", "/api/v1/mailboxes/:mailbox_id/extend", "apiKeyInSql", consumers.extend],
    ["POST", "/api/v1/mailboxes/:mailbox_id/release", "apiKeyInSql", consumers.release],
    ["POST", "/api/v1/mailboxes/:mailbox_id/reject", "apiKeyInSql", consumers.reject],
    ["POST", "/api/v1/mailboxes/:mailbox_id/redrive", "either", mailboxes.redrive],
    ["GET", "/api/v1/mailboxes/:mailbox_id/stats", "either", mailboxes.stats],
    [
      "POST",
      "/api/v1/mailboxes/:mailbox_id/messages/:message_id/force-release",
      "session",
      hands.forceRelease,
    ],
    ["POST", "/api/v1/mailboxes/:mailbox_id/messages/:message_id/force-reject", "session", hands.forceReject],
  ];
}

/** What is erased, and who hears of what happens. */
function doingRows(deps: AppDeps): RouteRow[] {
  const erasures = erasureRoutes(deps);
  const notifications = notificationRoutes(deps);
  return [
    ["POST", "/api/v1/events/:id/erase", "either", erasures.eraseEvent, "admin"],
    ["POST", "/api/v1/erasures", "either", erasures.create, "admin"],
    ["GET", "/api/v1/erasures", "either", erasures.list],
    ["GET", "/api/v1/erasures/:id", "either", erasures.read],

    ["GET", "/api/v1/notification-targets", "either", notifications.list],
    ["POST", "/api/v1/notification-targets", "either", notifications.save],
    ["DELETE", "/api/v1/notification-targets/:id", "either", notifications.remove],
  ];
}

function billingRows(deps: AppDeps): RouteRow[] {
  const billing = billingRoutes(deps);
  return [
    ["GET", "/api/v1/billing", "session", billing.status],
    ["POST", "/api/v1/billing/checkout", "session", billing.checkout, "admin"],
    ["GET", "/api/v1/billing/portal", "session", billing.portal, "admin"],
    ["GET", "/api/v1/billing/invoices", "session", billing.invoices, "admin"],
    ["GET", "/api/v1/billing/reconciliation", "session", billing.reconciliation],
    ["GET", "/api/v1/usage", "either", billing.usage],
    ["POST", "/api/v1/billing/webhook", "none", billing.webhook],
  ];
}

function operationRows(deps: AppDeps): RouteRow[] {
  const health = healthRoutes(deps);
  const mcp = mcpRoutes(deps);
  return [
    ["POST", "/mcp", "apiKey", mcp.call],
    ["GET", "/healthz", "none", health.alive],
    ["GET", "/readyz", "none", health.ready],
    ["GET", "/metrics", "none", health.metrics],
  ];
}
