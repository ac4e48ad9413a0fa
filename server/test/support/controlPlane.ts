import type pg from "pg";

/** The tables of the control plane that belong to organizations, with the condition for one organization, $1. */
const tables = {
  organizations: "id = $1",
  users: "org_id = $1",
  sessions: "user_id in (select id from users where org_id = $1)",
  password_resets: "user_id in (select id from users where org_id = $1)",
  api_keys: "org_id = $1",
  customers: "org_id = $1",
  targets: "org_id = $1",
  agent_cards: "target_id in (select id from targets where org_id = $1)",
  invitations: "org_id = $1",
  notification_targets: "org_id = $1",
  event_types: "org_id = $1",
};

/** All control plane rows of an organization, secrets included, for a comparison with earlier ones. */
export async function contentsOf(pool: pg.Pool, orgId: string): Promise<unknown> {
  const parts = await Promise.all(
    Object.entries(tables).map(async ([table, condition]) => {
      const { rows } = await pool.query(
        `select to_jsonb(t) - 'last_used_at' as row from ${table} t where ${condition} order by 1`,
        [orgId],
      );
      return [table, rows];
    }),
  );
  return Object.fromEntries(parts);
}
