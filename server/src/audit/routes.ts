import { type Static, Type } from "typebox";
import { usersAndKeys } from "../http/contract/access.ts";
import { routesOf } from "../http/contract/route.ts";
import { readKeys } from "../http/contract/scope.ts";
import {
  described,
  fieldsOf,
  Id,
  Moment,
  nullable,
  NullableString,
  nullableString,
  oneOf,
  pageBefore,
  Timestamp,
} from "../http/contract/schemas.ts";
import type { Parts } from "../items/parts.ts";
import { idRange, idTimeMs, isId } from "../postgres/ids.ts";
import type { AuditRow } from "../postgres/tables.ts";
import { type Action, actions } from "../http/contract/auditActions.ts";
import { listEntries } from "./store.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<AuditDeps>("Members");

export type AuditDeps = Pick<Parts, "queries" | "reads">;

const actionNames = Object.keys(actions) as Action[];

const describedActions = Object.entries(actions)
  .map(([name, note]) => (note === "" ? `\`${name}\`` : `\`${name}\` (${note})`))
  .join(", ");

const NullableId = nullable(Id);
const Fields = nullable(Type.Object({}, { additionalProperties: true }));

const AuditEntry = Type.Object(
  {
    id: Id,
    at: Timestamp,
    action: Type.String({ description: describedActions }),
    actor: Type.Object({
      // `unknown`: a caller without a valid credential.
      kind: oneOf(["user", "key", "customer", "operator", "service", "unknown"]),
      id: NullableId,
      name: nullableString(
        "The name at the time of the change: a user's email, a key's name, a customer's name or uid, an operator's login name, or the reason why the service made the change",
      ),
    }),
    object: Type.Object({ kind: Type.String(), id: NullableId, name: NullableString }),
    before: Fields,
    after: Fields,
    client_address: NullableString,
    user_agent: nullableString("The first 200 characters of the User-Agent header"),
    request_id: NullableString,
  },
  { title: "AuditEntry" },
);

const Query = Type.Object({
  ...pageBefore("entries").properties,
  action: Type.Optional(Type.Union(actionNames.map((name) => Type.Literal(name)))),
  actor_id: Type.Optional(Type.String({ description: "Id of a user, an API key or a customer" })),
  object_id: Type.Optional(Type.String({ description: "Id of the changed object, such as a target" })),
  created_after: Type.Optional(described(Moment, "Only changes at or after this time, in Unix seconds")),
  created_before: Type.Optional(described(Moment, "Only changes before this time, in Unix seconds")),
});

/** The list of the audit log's entries. */
export const auditRoute = route("listAuditLog", "GET /api/v1/audit-log", {
  access: usersAndKeys("admin", readKeys),
  summary: "List the entries of the audit log, newest first",
  description:
    "The audit log records changes of configuration, credentials and billing state. Each entry is written in the transaction of its change. Entries contain no secrets: of a URL, only the origin and a fingerprint are stored. Entries are kept for `POSTRIDER_AUDIT_RETENTION_DAYS` days.",
  query: Query,
  response: { 200: Type.Object({ entries: Type.Array(AuditEntry) }) },
  errors: { 429: "The organization has too many requests with several of these filters in progress" },
  examples: examples.listAuditLog,
  async handle(call, deps) {
    const { caller, query } = call;
    const ids = [query.actor_id, query.object_id];
    if (ids.some((id) => id !== undefined && !isId(id))) return { entries: [] };
    const filter = {
      orgId: caller.orgId,
      limit: query.limit,
      action: query.action,
      actorId: query.actor_id,
      objectId: query.object_id,
      ...idRange(query),
    };
    // There is an index for each of the three filters; with two of them, entries have to be scanned.
    const isSearch = [query.action, ...ids].filter((value) => value !== undefined).length > 1;
    const rows = await (isSearch
      ? deps.reads.run("searches", call, () => listEntries(deps.queries, filter))
      : listEntries(deps.queries, filter));
    return { entries: rows.map(entryAnswer) };
  },
});

function entryAnswer(row: AuditRow): Static<typeof AuditEntry> {
  return {
    ...fieldsOf(AuditEntry, row),
    at: Math.floor(idTimeMs(row.id) / 1000),
    actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
    object: { kind: row.object_kind, id: row.object_id, name: row.object_name },
  };
}
