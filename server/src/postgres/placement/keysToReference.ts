/** A foreign key from a table of the control plane to one that every cell reads. */
export interface KeyToReference {
  table: string;
  name: string;
  /** As PostgreSQL's catalogue says it. */
  definition: string;
}

/**
 * The foreign keys that a database has on one PostgreSQL, and lacks while its cells are on several servers: by each of them Citus would
 * take the table into its metadata, where its upserts fail. A test compares them with those that the migrations make.
 */
export const keysToReference: readonly KeyToReference[] = [
  ...[
    "audit_log",
    "billing_accounts",
    "billing_state_changes",
    "event_types",
    "held_invoices",
    "invitations",
    "meter_batches",
    "meter_counters",
    "portal_settings",
    "users",
  ].map((table) => ({
    table,
    name: `${table}_org_id_fkey`,
    definition: "FOREIGN KEY (org_id) REFERENCES organizations(id)",
  })),
  ...["portal_links", "portal_sessions"].map((table) => ({
    table,
    name: `${table}_customer`,
    definition: "FOREIGN KEY (org_id, customer_uid) REFERENCES customers(org_id, uid) ON DELETE CASCADE",
  })),
];

/** Access of a customer that was deleted while no key held it back. */
export const orphans = ["portal_links", "portal_sessions"].map(
  (table) => `delete from ${table} p where not exists (
       select from customers c where c.org_id = p.org_id and c.uid = p.customer_uid
     )`,
);
