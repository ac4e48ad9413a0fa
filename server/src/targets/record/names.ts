import { Type } from "typebox";
import { sql, type Updateable } from "kysely";
import { forms, textOf } from "../../http/contract/textForms.ts";
import type { Queries, TargetRow } from "../../postgres/tables.ts";
import { invalid, type Refused } from "./refusal.ts";

/** The rule for uids, in words. */
export const uidRule = forms.uid[1];

/** An organization's own name for a target or a customer, in a body or a query. */
export const Uid = textOf("uid", { description: uidRule, examples: ["customer-4711"] });

/** Whether the text is a uid that a path can contain. Clients resolve `.` and `..` in a path before they send it. */
export function isPathUid(text: string): boolean {
  return pathUid.test(text);
}

const pathUid = new RegExp(forms.pathUid[0]);

/** The most bytes of metadata as JSON. */
const maxMetadataBytes = 4_096;

export type Metadata = Record<string, unknown>;

/** An organization's own data about a target or a customer. */
export const MetadataField = Type.Unsafe<Metadata>(
  Type.Record(Type.String(), Type.Unknown(), {
    description: "Any JSON object of up to 4 KiB; a change replaces the whole object",
    examples: [{ plan: "gold", region: "eu" }],
  }),
);

/** Why metadata is refused: it is too large. */
export function metadataFault(metadata: Metadata | null | undefined): string | undefined {
  if (metadata === null || metadata === undefined) return undefined;
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes > maxMetadataBytes
    ? `metadata has ${bytes} bytes as JSON: ${maxMetadataBytes} are allowed`
    : undefined;
}

/**
 * Called before a target's row is written. Checks that no other target has its uid, and locks its customer until the transaction
 * ends. Locks the customer before the target, as the deletion of a customer does, so that the two cannot deadlock.
 * @returns why the names are refused: there is no such customer, or another target has the uid.
 */
export async function holdNames(
  transaction: Queries,
  orgId: string,
  { id, uid, customer_uid: customerUid }: Pick<Updateable<TargetRow>, "id" | "uid" | "customer_uid">,
): Promise<Refused | undefined> {
  if (typeof customerUid === "string") {
    const customer = await transaction
      .selectFrom("customers")
      .select("id")
      .where((row) => row.and({ org_id: orgId, uid: customerUid }))
      .forKeyShare()
      .executeTakeFirst();
    if (customer === undefined) return invalid(noSuchCustomer(customerUid));
  }
  if (typeof uid !== "string") return undefined;
  // An advisory lock until the transaction ends: another transaction with the same uid waits, and then sees this one's row.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`target uid ${orgId} ${uid}`}, 0))`.execute(
    transaction,
  );
  const other = await transaction
    .selectFrom("targets")
    .select("id")
    .where((row) => row.and({ org_id: orgId, uid }))
    .executeTakeFirst();
  return other === undefined || other.id === id ? undefined : { ok: false, refusal: { kind: "uid_taken" } };
}

/** The message for a `customer_uid` that no customer has. */
export function noSuchCustomer(uid: string): string {
  return `customer_uid: no customer ${isPathUid(uid) ? uid : "with this uid"}: create it first with PUT /api/v1/customers/:uid`;
}
