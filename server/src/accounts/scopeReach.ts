import type pg from "pg";
import { firstPublicationId } from "../customers/store.ts";
import { customerOf, type NamedThing, type Reach, type Scope } from "../http/contract/scope.ts";
import { bucketOf, isId } from "../postgres/ids.ts";

/**
 * Checks whether a target, event or publication is within a limited credential's scope. An event belongs to its target's
 * present customer; an event whose target was deleted is in no scope.
 */
export function createReach(pool: pg.Pool): Reach {
  return async (orgId, scope, thing) => {
    if (!isId(thing.id)) return false;
    const { rowCount } = await pool.query(statementOf(orgId, scope, thing));
    return rowCount === 1;
  };
}

function statementOf(orgId: string, scope: Scope, { kind, id }: NamedThing): pg.QueryConfig {
  const customer = customerOf(scope) ?? null;
  switch (kind) {
    case "target":
      return {
        name: "is_target_of_customer",
        text: `select
               from targets t
               where t.id = $1
                 and t.org_id = $2
                 and t.customer_uid = $3`,
        values: [id, orgId, customer],
      };
    case "event":
      return {
        name: "is_event_within_reach",
        text: `select
               from events e
               join targets t on t.id = e.target_id
               where e.org_id = $1
                 and e.id = $2
                 and (t.customer_uid = $3 or (is_pulled(kind_number(t.kind)) and t.id = any ($4::uuid[])))`,
        values: [orgId, id, customer, scope.kind === "consume" ? scope.mailboxIds : []],
      };
    case "publication":
      return {
        name: "is_publication_of_customer",
        text: `select
               from publications p
               join customers c on c.org_id = p.org_id and c.uid = p.customer_uid
               where p.bucket = $1
                 and p.id = $2
                 and p.org_id = $3
                 and p.customer_uid = $4
                 and p.id >= ${firstPublicationId}`,
        values: [bucketOf(id), id, orgId, customer],
      };
  }
}
