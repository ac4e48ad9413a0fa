import type pg from "pg";

/** How many an organization has. To hold a limit, call it under the lock on the organization's row. */
export async function countOfOrganization(
  client: pg.ClientBase,
  table: "users" | "api_keys",
  orgId: string,
): Promise<number> {
  const { rows } = await client.query<{ count: number }>({
    name: `count_${table}`,
    text: `select count(*) as count
           from ${table}
           where org_id = $1`,
    values: [orgId],
  });
  return rows[0]!.count;
}
