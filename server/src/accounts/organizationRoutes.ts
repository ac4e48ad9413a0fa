import { Type } from "typebox";
import { originOf } from "../audit/origin.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { ApiError, orInvalid, unauthorized } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import { Id, nullable, oneOf, Timestamp } from "../http/contract/schemas.ts";
import { billingStatuses } from "../postgres/tables.ts";
import { Name, readName } from "./schemas.ts";
import { changeOrganization, readOrganization } from "./organizationStore.ts";
import examples from "./examples.json" with { type: "json" };
import type { Parts } from "../items/parts.ts";

const route = routesOf<OrganizationDeps>("Organization");

export type OrganizationDeps = Pick<Parts, "pool">;

const readRoute = route("readOrganization", "GET /api/v1/orgs", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Read the caller's organization",
  response: {
    200: Type.Object({
      org: Type.Object(
        {
          id: Id,
          name: Type.String(),
          slug: Type.String({
            description:
              "Unique. Generated when the organization is created, and not changed when it is renamed",
          }),
          billing_status: oneOf(billingStatuses),
          billing_grace_ends_at: nullable(Timestamp),
          secrets_can_be_revealed: Type.Boolean({
            description: "Whether admins can read the signing secrets of existing targets",
          }),
          created_at: Timestamp,
        },
        { title: "Organization" },
      ),
    }),
  },
  examples: examples.readOrganization,
  async handle({ caller }, deps) {
    const org = await readOrganization(deps.pool, caller.orgId);
    if (org === undefined) throw unauthorized();
    return { org };
  },
});

const changeRoute = route("renameOrganization", "PATCH /api/v1/orgs", {
  access: usersAndKeys("admin", noLimitedKey),
  audit: ["organization.renamed", "organization.revealing_changed"],
  summary: "Update the caller's organization",
  body: Type.Object({
    name: Type.Optional(Name),
    secrets_can_be_revealed: Type.Optional(
      Type.Boolean({
        description:
          "Whether admins can read the signing secrets of existing targets; the audit log records each time that an admin does. Requires an admin's session token, not an API key",
      }),
    ),
  }),
  response: { 200: Type.Object({ updated: Type.Literal(true) }) },
  examples: examples.renameOrganization,
  async handle(call, deps) {
    const { name, secrets_can_be_revealed: secretsCanBeRevealed } = call.body;
    if (secretsCanBeRevealed === undefined) {
      if (name === undefined)
        throw new ApiError(400, "name is required, unless secrets_can_be_revealed is given");
    } else {
      requireSession(call.caller);
    }
    const outcome = await changeOrganization(deps.pool, originOf(call), {
      name: name === undefined ? undefined : orInvalid(readName(name)),
      secretsCanBeRevealed,
    });
    if (outcome === "gone") throw unauthorized();
    return { updated: true };
  },
});

/** @throws {ApiError} 403 for API keys: they have no role, and a leaked key must not reveal all receivers' signing secrets. */
function requireSession({ kind }: Caller): void {
  if (kind === "session") return;
  throw new ApiError(
    403,
    "secrets_can_be_revealed needs an admin's session token in X-Session-Token, not an API key",
  );
}

/** Reading and changing the caller's organization. */
export const organizationRoutes = [readRoute, changeRoute];
