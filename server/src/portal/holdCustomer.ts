import type pg from "pg";
import type { CustomerKey } from "../customers/store.ts";

/** A customer that stays until the transaction ends; undefined when there is none. */
export async function holdCustomer(
  client: pg.ClientBase,
  { orgId, uid }: CustomerKey,
): Promise<{ id: string; uid: string; name: string } | undefined> {
  const { rows } = await client.query<{ id: string; uid: string; name: string }>({
    name: "hold_customer_of_portal",
    text: `select id, uid, name
           from customers
           where org_id = $1
             and uid = $2
           for key share`,
    values: [orgId, uid],
  });
  return rows[0];
}
