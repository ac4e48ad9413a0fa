import type pg from "pg";
import { Type } from "typebox";
import { usersAndKeys } from "../http/contract/access.ts";
import { found, idOf } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { Id, Timestamp } from "../http/contract/schemas.ts";
import { idTimeMs } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import { listRequests, tryoutOrigin } from "./store.ts";

const route = routesOf<{ pool: pg.Pool; queries: Queries }>("Targets");

const TryoutRequest = Type.Object(
  {
    id: Id,
    received_at: Timestamp,
    event_id: Id,
    headers: Type.Array(Type.Array(Type.String(), { minItems: 2, maxItems: 2 }), {
      description: "Names and values, in the order in which they were sent",
    }),
    body: Type.String({ description: "The first 64 KiB, as text" }),
    body_truncated: Type.Boolean(),
    signature_verified: Type.Boolean({
      description: "Whether the signature is valid with the target's signing secret",
    }),
    answered: Type.Integer({ description: "HTTP status of the answer" }),
  },
  { title: "TryoutRequest" },
);

/** Lists the requests that the service's own receiver got for a target. */
export const tryoutRoute = route("listTryoutRequests", "GET /api/v1/targets/:id/tryout", {
  access: usersAndKeys("viewer", { takes: ["read", "customer"], names: "target" }),
  summary: "List the last requests to a tryout target, newest first",
  description: `The service itself receives the deliveries of a webhook target whose URL is \`${tryoutOrigin}/\` followed by 32 hex characters. It verifies each delivery and keeps the last 50. \`?answer=503\` at the end of the URL makes it answer with that status.`,
  response: { 200: Type.Object({ requests: Type.Array(TryoutRequest) }) },
  async handle({ caller, params }, deps) {
    const id = idOf(params.id);
    const target = deps.queries.selectFrom("targets").select("id");
    found(await target.where("id", "=", id).where("org_id", "=", caller.orgId).executeTakeFirst());
    const requests = await listRequests(deps.pool, { orgId: caller.orgId, id });
    return {
      requests: requests.map((one) => ({
        id: one.id,
        received_at: Math.floor(idTimeMs(one.id) / 1000),
        event_id: one.eventId,
        headers: JSON.parse(one.headers) as string[][],
        body: one.body.toString("utf8"),
        body_truncated: one.size > one.body.length,
        signature_verified: one.isVerified,
        answered: one.answered,
      })),
    };
  },
});
