import type pg from "pg";
import { differences, pick } from "../audit/differences.ts";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { newRootId } from "../postgres/ids.ts";
import { inTransaction } from "../postgres/pool.ts";
import { MetadataField, Uid } from "../targets/record/names.ts";
import { type Static, Type } from "typebox";
import { described, Id, pageByName, Timestamp } from "../http/contract/schemas.ts";

export const Customer = Type.Object(
  {
    uid: described(Uid, "Your own id for the customer"),
    id: described(Id, "The service's id for the customer, used in the audit log"),
    name: Type.String(),
    metadata: MetadataField,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Customer" },
);

export type StoredCustomer = Static<typeof Customer>;

export const CustomerQuery = Type.Object(pageByName(Uid, ["uid", "customer"]));

export interface CustomerKey {
  orgId: string;
  uid: string;
}

/** Sorts after every character that a uid may have. */
const afterAllUids = "~";

const columns = "c.id, c.uid, c.name, c.metadata, c.created_at, c.updated_at";

const ofOrganization = `select ${columns}
  from customers c
  where c.org_id = $1`;

/** A page of an organization's customers, by uid. */
export async function listCustomers(
  pool: pg.Pool,
  orgId: string,
  { after = "", prefix = "", limit }: Static<typeof CustomerQuery>,
): Promise<StoredCustomer[]> {
  const { rows } = await pool.query<StoredCustomer>({
    name: "list_customers",
    text: `${ofOrganization}
             and c.uid > $2
             and c.uid >= $3
             and c.uid < $4
           order by c.uid
           limit $5`,
    values: [orgId, after, prefix, prefix + afterAllUids, limit],
  });
  return rows;
}

/** Reads a customer; undefined when the organization has no such customer. */
export function readCustomer(pool: pg.Pool, key: CustomerKey): Promise<StoredCustomer | undefined> {
  return findCustomer(pool, key, { name: "read_customer" });
}

async function findCustomer(
  queries: pg.Pool | pg.ClientBase,
  { orgId, uid }: CustomerKey,
  { name, lock = "" }: { name: string; lock?: string },
): Promise<StoredCustomer | undefined> {
  const { rows } = await queries.query<StoredCustomer>({
    name,
    text: `${ofOrganization}
             and c.uid = $2
           ${lock}`,
    values: [orgId, uid],
  });
  return rows[0];
}

const audited = ["uid", "name", "metadata"] as const;

export type CustomerFields = Pick<StoredCustomer, "uid" | "name" | "metadata">;

/** Creates a customer, or changes the one with this uid; writes nothing if no value differs. */
export function putCustomer(
  pool: pg.Pool,
  origin: Origin,
  fields: CustomerFields,
  nowMs: number,
): Promise<StoredCustomer> {
  return inTransaction(pool, async (client) => {
    // Repeated when another request has created the customer first, and perhaps deleted it again.
    for (;;) {
      const made = await insert(client, origin, fields, nowMs);
      if (made !== undefined) return made;
      const present = await lockCustomer(client, { orgId: origin.orgId, uid: fields.uid });
      if (present !== undefined) return update(client, origin, present, { ...fields, nowMs });
    }
  });
}

async function insert(
  client: pg.ClientBase,
  origin: Origin,
  { uid, name, metadata }: CustomerFields,
  nowMs: number,
): Promise<StoredCustomer | undefined> {
  const { rows } = await client.query<StoredCustomer>({
    name: "insert_customer",
    text: `insert into customers as c (id, org_id, uid, name, metadata, created_at, updated_at)
           values ($1, $2, $3, $4, $5::jsonb, $6, $6)
           on conflict (org_id, uid) do nothing
           returning ${columns}`,
    values: [newRootId(nowMs), origin.orgId, uid, name, JSON.stringify(metadata), Math.floor(nowMs / 1000)],
  });
  const made = rows[0];
  if (made === undefined) return undefined;
  await recordChange(client, origin, {
    action: "customer.created",
    object: objectOf(made),
    after: pick(audited, made),
  });
  return made;
}

async function update(
  client: pg.ClientBase,
  origin: Origin,
  present: StoredCustomer,
  { name, metadata, nowMs }: CustomerFields & { nowMs: number },
): Promise<StoredCustomer> {
  const { before, after } = differences(audited, present, { ...present, name, metadata });
  if (Object.keys(after).length === 0) return present;
  const { rows } = await client.query<StoredCustomer>({
    name: "update_customer",
    text: `update customers c
           set name = $2,
             metadata = $3::jsonb,
             updated_at = $4
           where c.id = $1
           returning ${columns}`,
    values: [present.id, name, JSON.stringify(metadata), Math.floor(nowMs / 1000)],
  });
  const updated = rows[0]!;
  await recordChange(client, origin, {
    action: "customer.updated",
    object: objectOf(updated),
    before,
    after,
  });
  return updated;
}

/** Locks a customer exclusively until the transaction ends, also against `holdCustomer`; undefined when there is none. */
export function lockCustomer(client: pg.ClientBase, key: CustomerKey): Promise<StoredCustomer | undefined> {
  return findCustomer(client, key, { name: "lock_customer", lock: "for update of c" });
}

/** Keeps a customer from being deleted until the transaction ends; undefined when there is none. */
export function holdCustomer(client: pg.ClientBase, key: CustomerKey): Promise<StoredCustomer | undefined> {
  return findCustomer(client, key, { name: "hold_customer", lock: "for key share of c" });
}

/**
 * SQL for the lowest possible id of a publication to customer `c`. Publications with lower ids were for a deleted customer with
 * the same uid. Publications have the time of the database's clock, customers that of a process, which may differ by a minute.
 */
export const firstPublicationId = "first_id_at((c.created_at - 60) * 1000)";

export function objectOf({ id, uid, name }: Pick<StoredCustomer, "id" | "uid" | "name">) {
  return { kind: "customer", id, name: name === "" ? uid : name } as const;
}
