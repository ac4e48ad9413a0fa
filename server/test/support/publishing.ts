import { startedNodeTest } from "./fixtures.ts";
import { until } from "./until.ts";
import type { Organization } from "./organization.ts";

let customers = 0;

/** A node for the file, and for each test a `customer` of its `own` organization. */
export const publishingTest = startedNodeTest().extend("customer", ({ own }) => newCustomer(own));

/** Creates a customer, with functions that publish to it and create targets for it. */
export async function newCustomer(organization: Organization) {
  const uid = `shop-${++customers}`;
  await organization.call("PUT", `/api/v1/customers/${uid}`, {});
  return {
    uid,
    publish: (body: unknown, headers?: Record<string, string>) =>
      organization.call("POST", `/p/${uid}`, body, headers),
    webhook: (fields: object = {}) => organization.newTarget({ customer_uid: uid, ...fields }),
    mailbox: async (fields: object = {}): Promise<string> => {
      const body = { kind: "mailbox", name: "m", customer_uid: uid, ...fields };
      return (await organization.call("POST", "/api/v1/targets", body)).body.id;
    },
  };
}

export const readPublication = async (organization: Organization, id: string) =>
  (await organization.call("GET", `/api/v1/publications/${id}`)).body.publication;

/** Resolves once every item of the publication has this status. */
export const allAre = (organization: Organization, id: string, status: string) =>
  until(
    () => readPublication(organization, id),
    ({ items }) => items.every((item: { status: string }) => item.status === status),
  );
