import { type Updateable, sql } from "kysely";
import { ApiError } from "../http/contract/errors.ts";
import { inTransactionOf, type TargetRow } from "../postgres/tables.ts";
import type { TargetDeps } from "./createTarget.ts";
import { type HeadersInput, headersAnswer, hasSecretHeaders, sealHeaders } from "./headers.ts";
import { endHeaderSet, noteHeaderSet } from "./headerSets.ts";
import { changeTarget, lockTarget, type StoredTarget, type TargetChange } from "./store.ts";

/** A change of a webhook's URL, of its headers, or of both. */
export interface HeadersChange {
  /** Everything else that changes, the URL among it. */
  row: Updateable<TargetRow>;
  /** Null: none from now on. */
  headers: HeadersInput | null | undefined;
  nowSeconds: number;
}

/**
 * Changes a target's URL and headers together, so that no two requests can send a secret where it was not given for.
 * @throws {ApiError} 400 that names a header, 404 when the target is gone, 409 as {@link refuseOtherOrigin}.
 */
export async function changeHeaders(
  { queries, box }: TargetDeps,
  change: TargetChange,
  { row, headers, nowSeconds }: HeadersChange,
): Promise<StoredTarget> {
  return inTransactionOf(queries, async (transaction) => {
    const { origin, id } = change;
    const present = await lockTarget(transaction, { orgId: origin.orgId, id });
    const isElsewhere = refuseOtherOrigin(present, { url: row.url as string | undefined, headers });
    if (headers === undefined) return changeTarget(transaction, change, row, nowSeconds);
    const kept = isElsewhere ? null : present.headers;
    const sealed = sealHeaders({ box, targetId: id, present: kept }, headers ?? {});
    await endHeaderSet(transaction, id, nowSeconds);
    const target = await changeTarget(
      transaction,
      { ...change, beside: besideOf(change, present.headers, sealed) },
      { ...row, headers: sealed, header_set: sealed === null ? null : (sql`version + 1` as never) },
      nowSeconds,
    );
    await noteHeaderSet(transaction, target);
    return target;
  });
}

/** The names of headers before and after, and no value. */
function besideOf(
  { beside }: TargetChange,
  before: string | null,
  after: string | null,
): Required<TargetChange>["beside"] {
  const names = (stored: string | null): string[] => Object.keys(headersAnswer(stored));
  return {
    before: { ...beside?.before, headers: names(before) },
    after: { ...beside?.after, headers: names(after) },
  };
}

/**
 * Whether a target would move to another origin. What is secret was given for the one it has, and whoever may change the
 * URL may not read it: it has to be given again.
 * @throws {ApiError} 409 when it has secret headers and the change brings none.
 */
export function refuseOtherOrigin(
  present: Pick<TargetRow, "url" | "headers">,
  change: { url?: string | undefined; headers?: HeadersInput | null | undefined },
): boolean {
  if (change.url === undefined || present.url === null || originOf(change.url) === originOf(present.url))
    return false;
  if (change.headers === undefined && hasSecretHeaders(present.headers)) {
    throw new ApiError(
      409,
      `the secret headers were given for ${originOf(present.url)}: give headers again together with the new url`,
      { code: "headers_needed" },
    );
  }
  return true;
}

function originOf(url: string): string {
  return new URL(url).origin;
}
