import { sql } from "kysely";
import type { SecretBox } from "../../items/secretBox.ts";
import type { Queries, TargetRow } from "../../postgres/tables.ts";
import type { Refused } from "../record/refusal.ts";
import type { Beside, Decision, StoredTarget } from "../record/store.ts";
import { endHeaderSet, noteHeaderSet } from "./headerSets.ts";
import { hasSecretHeaders, headersAnswer, type HeadersInput, sealHeaders } from "../record/headers.ts";

/** A change of a webhook's URL, of its headers, or of both. */
export interface HeadersChange {
  url?: string | undefined;
  /** Null: none from now on. */
  headers?: HeadersInput | null | undefined;
}

/**
 * Decides about headers once the target is locked, so that no two requests can send a secret to an origin that it was not
 * given for.
 */
export function decideHeaders(
  { box, nowSeconds }: { box: SecretBox; nowSeconds: number },
  present: StoredTarget,
  { url, headers }: HeadersChange,
): Decision | Refused {
  const isElsewhere = isOtherOrigin(present, url);
  const refused = refuseOtherOrigin(present, { url, headers });
  if (refused !== undefined) return refused;
  if (headers === undefined) return { ok: true };
  const kept = isElsewhere ? null : present.headers;
  const sealed = sealHeaders({ box, targetId: present.id, present: kept }, headers ?? {});
  if (!sealed.ok) return sealed;
  return {
    ok: true,
    columns: {
      headers: sealed.stored,
      header_set: sealed.stored === null ? null : (sql`version + 1` as never),
    },
    beside: namesOf(present.headers, sealed.stored),
    async save(transaction: Queries, target) {
      await endHeaderSet(transaction, target.id, nowSeconds);
      await noteHeaderSet(transaction, target);
    },
  };
}

/** The names of headers before and after, and no value. */
function namesOf(before: string | null, after: string | null): Beside {
  const names = (stored: string | null): string[] => Object.keys(headersAnswer(stored));
  return { before: { headers: names(before) }, after: { headers: names(after) } };
}

/**
 * Refuses to move secret headers to another origin. They were given for the present one, and a caller who may change the URL
 * may not read them: they have to be given again.
 */
export function refuseOtherOrigin(
  present: Pick<TargetRow, "url" | "headers">,
  { url, headers }: HeadersChange,
): Refused | undefined {
  if (headers !== undefined || !isOtherOrigin(present, url) || !hasSecretHeaders(present.headers)) {
    return undefined;
  }
  return { ok: false, refusal: { kind: "headers_needed", origin: originOf(present.url!) } };
}

function isOtherOrigin(present: Pick<TargetRow, "url">, url: string | undefined): boolean {
  return url !== undefined && present.url !== null && originOf(url) !== originOf(present.url);
}

function originOf(url: string): string {
  return new URL(url).origin;
}
