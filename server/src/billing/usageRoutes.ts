import type pg from "pg";
import { Type } from "typebox";
import { usersAndKeys } from "../http/contract/access.ts";
import { found } from "../http/contract/errors.ts";
import { routesOf, type RouteRecord } from "../http/contract/route.ts";
import { readKeys } from "../http/contract/scope.ts";
import { Timestamp } from "../http/contract/schemas.ts";
import {
  billableItems,
  centsOf,
  pendingItems,
  periodBounds,
  periodOf,
  readLedgerMonth,
  unitsOf,
} from "./ledger.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf("Billing");

const Usage = Type.Object(
  {
    period_start: Timestamp,
    period_end: Timestamp,
    accepted_events: Type.Integer({ description: "Items newly accepted in the period" }),
    estimated_units: Type.Integer({ description: "Started units of 1,000 items; 0 for an exempt workspace" }),
    estimated_cents: Type.Integer({ description: "US cents; 0 for an exempt workspace" }),
    pending_meter_events: Type.Integer({
      description: "Items that wait for export to the payment processor",
    }),
  },
  { title: "Usage" },
);

/** `GET /api/v1/usage`: usage of the present UTC month. */
export function usageRoute(deps: { pool: pg.Pool; nowMs: () => number }): RouteRecord {
  return route("readUsage", "GET /api/v1/usage", {
    access: usersAndKeys("viewer", readKeys),
    summary: "Usage of the current month",
    response: { 200: Type.Object({ usage: Usage }) },
    examples: examples.readUsage,
    async handle({ caller }) {
      const period = periodOf(deps.nowMs());
      const month = found(await readLedgerMonth(deps.pool, caller.orgId, period));
      const { startSeconds, endSeconds } = periodBounds(period);
      const billable = billableItems(month);
      return {
        usage: {
          period_start: startSeconds,
          period_end: endSeconds,
          accepted_events: month.accepted,
          estimated_units: unitsOf(billable),
          estimated_cents: centsOf(billable),
          pending_meter_events: pendingItems(month),
        },
      };
    },
  })();
}
