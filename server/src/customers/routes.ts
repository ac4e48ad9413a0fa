import { Type } from "typebox";
import type pg from "pg";
import { originOf } from "../audit/origin.ts";
import { usersAndKeys } from "../http/contract/access.ts";
import { ApiError, foundNamed, noneNamed } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { noLimitedKey, readKeys } from "../http/contract/scope.ts";
import type { TargetDeps } from "../targets/record/kind.ts";
import { isPathUid, metadataFault, MetadataField, uidRule } from "../targets/record/names.ts";
import { deleteCustomer } from "./deleteCustomer.ts";
import { Customer, CustomerQuery, listCustomers, putCustomer, readCustomer } from "./store.ts";
import examples from "./examples.json" with { type: "json" };
import { lineOfText } from "../http/contract/plainText.ts";
import { described } from "../http/contract/schemas.ts";

const route = routesOf<CustomerDeps>("Customers");

type CustomerDeps = TargetDeps & { pool: pg.Pool };

const CustomerInput = Type.Object(
  {
    name: Type.Optional(described(lineOfText({ maxLength: 256 }), "Default: empty")),
    metadata: Type.Optional(MetadataField),
  },
  { title: "CustomerInput" },
);

const DeletedCustomer = Type.Object(
  { deleted: Type.Literal(true), deleted_targets: Type.Integer() },
  { title: "DeletedCustomer" },
);

const listRoute = route("listCustomers", "GET /api/v1/customers", {
  access: usersAndKeys("viewer", readKeys),
  summary: "List customers, sorted by uid",
  query: CustomerQuery,
  response: { 200: Type.Object({ customers: Type.Array(Customer) }) },
  examples: examples.listCustomers,
  handle: async ({ caller, query }, deps) => ({
    customers: await listCustomers(deps.pool, caller.orgId, query),
  }),
});

const putRoute = route("putCustomer", "PUT /api/v1/customers/:uid", {
  access: usersAndKeys("member", noLimitedKey),
  audit: ["customer.created", "customer.updated"],
  summary: "Create or replace a customer",
  description:
    "The same request creates or replaces the customer, so it can be repeated. Omitted fields become empty.",
  body: CustomerInput,
  response: { 200: Customer },
  examples: examples.putCustomer,
  async handle(call, deps) {
    const { uid } = call.params;
    if (!isPathUid(uid)) throw new ApiError(400, `uid must be ${uidRule}, but not . or ..`);
    const { name = "", metadata = {} } = call.body;
    const fault = metadataFault(metadata);
    if (fault !== undefined) throw new ApiError(400, fault);
    return putCustomer(deps.pool, originOf(call), { uid, name, metadata }, deps.nowMs());
  },
});

const readRoute = route("readCustomer", "GET /api/v1/customers/:uid", {
  access: usersAndKeys("viewer", readKeys),
  summary: "Read a customer",
  response: { 200: Customer },
  examples: examples.readCustomer,
  async handle({ caller: { orgId }, params }, deps) {
    const uid = uidOfPath(params);
    return foundNamed(await readCustomer(deps.pool, { orgId, uid }), "customer", uid);
  },
});

const deleteRoute = route("deleteCustomer", "DELETE /api/v1/customers/:uid", {
  access: usersAndKeys("member", noLimitedKey),
  audit: "customer.deleted",
  summary: "Delete a customer",
  description:
    "Also deletes the targets of the customer and the API keys that are limited to the customer. Queued items of these targets become CANCELED.",
  response: { 200: DeletedCustomer },
  examples: { answer: { deleted: true, deleted_targets: 2 } },
  async handle(call, deps) {
    const uid = uidOfPath(call.params);
    const count = foundNamed(await deleteCustomer(deps, originOf(call), uid), "customer", uid);
    return { deleted: true, deleted_targets: count };
  },
});

/** Reads a customer's uid from a path. @throws {ApiError} 404 for a text that cannot be a uid in a path. */
export function uidOfPath({ uid }: { uid: string }): string {
  if (!isPathUid(uid)) throw noneNamed("customer", uid);
  return uid;
}

/** Routes for the customers of an organization, named by its own uids. */
export const customerRoutes = [listRoute, putRoute, readRoute, deleteRoute];
