import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { authRoutes } from "./accounts/authRoutes.ts";
import { keyRoutes } from "./accounts/keyRoutes.ts";
import { organizationRoutes } from "./accounts/organizationRoutes.ts";
import { auditRoute } from "./audit/routes.ts";
import type { Passwords } from "./accounts/passwords.ts";
import { billingRoutes } from "./billing/routes.ts";
import type { Config } from "./config/config.ts";
import type { Cells } from "./postgres/cells.ts";
import { eventRoutes } from "./events/routes.ts";
import { eventTypeRoutes } from "./eventTypes/routes.ts";
import type { Handoffs } from "./handoff/handoffs.ts";
import { handoffRoutes, agentNotificationRoute } from "./handoff/routes.ts";
import { routedByCell } from "./http/routedByCell.ts";
import { addDashboard } from "./http/dashboard.ts";
import { addDocumentation } from "./http/reference/documentation.ts";
import { type HealthDeps, healthRoutes } from "./http/health.ts";
import type { RouteRecord } from "./http/contract/route.ts";
import type { ServerDeps } from "./http/contract/serverDeps.ts";
import { addConnections, addRoutes, createServer } from "./http/server.ts";
import type { Intake } from "./intake/intake.ts";
import { intakeRoutes } from "./intake/routes.ts";
import { publicationRoutes } from "./publications/routes.ts";
import type { Mailer } from "./mail/mailer.ts";
import type { Mailboxes } from "./mailbox/mailboxes.ts";
import { mailboxRoutes } from "./mailbox/routes.ts";
import { type McpRouteDeps, mcpRoute, refuseOtherMethods } from "./mcp/routes.ts";
import { invitationRoutes } from "./members/invitationRoutes.ts";
import { memberRoutes } from "./members/routes.ts";
import { erasureRoutes } from "./erasures/routes.ts";
import { notificationRoutes } from "./notifications/routes.ts";
import { endpointRoutes } from "./targets/endpointRoutes.ts";
import { replayRoutes } from "./replays/routes.ts";
import { statsRoute, targetHealthRoutes } from "./stats/routes.ts";
import { customerRoutes } from "./customers/routes.ts";
import { portalRoutes } from "./portal/routes.ts";
import { readFraming } from "./portal/settings.ts";
import { filterRoute } from "./filters/routes.ts";
import { targetRoutes } from "./targets/routes.ts";
import { testRoute } from "./testsend/routes.ts";
import { tryoutRoute } from "./tryout/routes.ts";
import type { ConsumerTraces } from "./mailbox/traceConsumers.ts";
import { type StreamRouteDeps, streamRoute } from "./stream/routes.ts";
import type { Parts } from "./items/parts.ts";

/** The parts of the process from which each feature takes those it needs. `assemble.ts` creates them. */
export interface AppDeps extends ServerDeps, HealthDeps, StreamRouteDeps, McpRouteDeps, Omit<Parts, "cells"> {
  config: Config;
  passwords: Passwords;
  /** Absent when no mail server is configured. */
  mailer?: Mailer | undefined;
  intake: Intake;
  mailboxes: Mailboxes;
  consumerTraces?: ConsumerTraces | undefined;
  handoffs: Handoffs;
  /** Tells this process's worker that there is a new replay of many events. */
  onReplay: () => void;
  /** Tells this process's billing worker that the payment processor sent a webhook. */
  onBillingEvent: () => void;
}

/**
 * The whole HTTP interface, ready to listen.
 * @param parts the parts of each cell, in the order of `cells`. The first cell also answers callers without an organization.
 * @param control pool that checks credentials, because all connections of a cell's pool may be waiting for an unreachable server.
 */
export function createApp(
  parts: readonly Omit<AppDeps, "app">[],
  cells: Cells,
  control: pg.Pool,
): FastifyInstance {
  const app = createServer(parts[0]!);
  const [deps, ...others] = parts.map((part): AppDeps => ({ ...part, app: () => app }));
  const routes = routedByCell(interfaceRoutes(deps!), others.map(interfaceRoutes), cells);
  const front = { ...deps!, pool: control };
  addRoutes(app, front, routes);
  addConnections(app, front, routes);
  refuseOtherMethods(app);
  addDocumentation(app, routes);
  const framingOf = (orgId: string) => readFraming(control, orgId);
  if (deps!.config.dashboard && !addDashboard(app, { config: deps!.config, framingOf }))
    deps!.log.warn({}, notBuilt);
  return app;
}

const notBuilt =
  "the dashboard is not built, so that only the interface is served; run: npm ci, without --omit=dev";

/** The features, in the order of the interface's document. */
const features: readonly ((deps: AppDeps) => RouteRecord | RouteRecord[])[] = [
  ...authRoutes,
  ...keyRoutes,
  ...customerRoutes,
  filterRoute,
  ...eventTypeRoutes,
  ...portalRoutes,
  ...targetRoutes,
  testRoute,
  tryoutRoute,
  ...targetHealthRoutes,
  intakeRoutes,
  ...publicationRoutes,
  ...endpointRoutes,
  ...mailboxRoutes,
  ...eventRoutes,
  ...replayRoutes,
  ...handoffRoutes,
  streamRoute,
  agentNotificationRoute,
  statsRoute,
  ...organizationRoutes,
  ...memberRoutes,
  ...invitationRoutes,
  auditRoute,
  ...erasureRoutes,
  ...notificationRoutes,
  billingRoutes,
  mcpRoute,
  healthRoutes,
];

/** Every route of the interface. */
export function interfaceRoutes(deps: AppDeps): RouteRecord[] {
  return features.flatMap((feature) => feature(deps));
}
