/**
 * SQL for the bucket (0–255) by which a row of a cell's table goes to a cell: that of its organization, where the row says whose it
 * is; else its own, which is its target's; else that of the organization whose replay it belongs to, or of its target.
 * @param home the schema of the undivided tables, as SQL writes it.
 * @throws {Error} for a table whose rows name none of them.
 */
export function bucketOfRow(table: string, columns: ReadonlySet<string>, home: string): string {
  if (columns.has("org_id")) return bucketOfId("org_id");
  if (columns.has("bucket")) return "bucket";
  if (columns.has("replay_id"))
    return `(select ${bucketOfId("r.org_id")} from ${home}.replays r where r.id = replay_id)`;
  if (columns.has("target_id")) return bucketOfId("target_id");
  throw new Error(`a row of ${table} does not say which cell it belongs to`);
}

function bucketOfId(id: string): string {
  return `get_byte(uuid_send(${id}), 15)`;
}
