import type { Static } from "typebox";
import type pg from "pg";
import type { Caller } from "../http/contract/credentials.ts";
import type { Portal } from "./schemas.ts";

interface PortalRow {
  organization_name: string;
  customer_name: string;
  logo: string | null;
  colour: string | null;
  expires_at: number;
}

/** The frame of a portal's page: whose portal it is, and how it looks. Undefined when the session has just ended. */
export async function readPortal(
  pool: pg.Pool,
  { orgId, scope, tokenHash }: Extract<Caller, { kind: "portal" }>,
): Promise<Static<typeof Portal> | undefined> {
  const { rows } = await pool.query<PortalRow>({
    name: "read_portal",
    text: `select
             coalesce(p.name, o.name) as organization_name,
             c.name as customer_name,
             p.logo,
             p.colour,
             s.expires_at
           from portal_sessions s
           join organizations o on o.id = s.org_id
           join customers c on c.org_id = s.org_id and c.uid = s.customer_uid
           left join portal_settings p on p.org_id = s.org_id
           where s.token_hash = $1`,
    values: [tokenHash],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  const { organization_name: name, logo, colour, customer_name: customerName, expires_at } = row;
  return {
    organization: { id: orgId, name, logo, colour },
    customer: { uid: scope.customerUid, name: customerName === "" ? null : customerName },
    expires_at,
  };
}
