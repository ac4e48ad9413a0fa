import { Type } from "typebox";
import type pg from "pg";
import { originOf } from "../audit/origin.ts";
import { ApiError } from "../http/contract/errors.ts";
import { route, type Routes } from "../http/contract/route.ts";
import type { TargetDeps } from "../targets/createTarget.ts";
import { checkMetadata } from "../targets/metadata.ts";
import { UidParams, isPathUid, uidRule } from "../targets/uid.ts";
import { customerRoute } from "./customerRoute.ts";
import { deleteCustomer } from "./deleteCustomer.ts";
import { Customer, CustomerInput, CustomerQuery, DeletedCustomer } from "./schemas.ts";
import { listCustomers, putCustomer, readCustomer } from "./store.ts";

/** `/api/v1/customers`: whom an organization sends to, by its own ids. */
export function customerRoutes(
  deps: TargetDeps & { pool: pg.Pool },
): Routes<"list" | "put" | "read" | "remove"> {
  return {
    list: route(
      {
        summary: "List customers, by uid",
        querystring: CustomerQuery,
        response: { 200: Type.Object({ customers: Type.Array(Customer) }) },
      },
      async ({ caller, query }) => ({ customers: await listCustomers(deps.pool, caller.orgId, query) }),
    ),
    put: route(
      {
        summary: "Make a customer, or change one",
        description:
          "The same call makes it and changes it, so that it can be repeated. What is left out becomes empty.",
        params: UidParams,
        body: CustomerInput,
        response: { 200: Customer },
      },
      async (call) => {
        const { uid } = call.params;
        if (!isPathUid(uid)) throw new ApiError(400, `uid must be ${uidRule}, and neither . nor ..`);
        const { name = "", metadata = {} } = call.body;
        checkMetadata(metadata);
        return putCustomer(deps.pool, originOf(call), { uid, name, metadata }, deps.nowMs());
      },
    ),
    read: customerRoute({ summary: "Read a customer", answer: Customer }, ({ caller: { orgId } }, uid) =>
      readCustomer(deps.pool, { orgId, uid }),
    ),
    remove: customerRoute(
      {
        summary:
          "Delete a customer, its targets and the keys limited to it; what is queued for these targets becomes CANCELED",
        answer: DeletedCustomer,
      },
      async (call, uid) => ({
        deleted: true,
        deleted_targets: await deleteCustomer(deps, originOf(call), uid),
      }),
    ),
  };
}
