import type pg from "pg";
import { hashCredential } from "../../http/contract/credentials.ts";
import { bucketOf, firstIdAt, isId } from "../../postgres/ids.ts";
import { byteaArray, int2Array } from "../../postgres/hot/binaryArray.ts";

/** A mailbox, and the moment of the database's clock for which the states of its messages are computed. */
export interface MailboxMoment {
  id: string;
  bucket: number;
  maxClaims: number | null;
  nowMs: number;
  /** Messages with smaller ids have expired. */
  expiredBefore: string;
  retentionMs: number;
}

export interface ReadDeps {
  pool: pg.Pool;
  retentionMs: number;
}

/** Returns undefined when the organization has no mailbox with this id. */
export async function findMailbox(
  deps: ReadDeps,
  orgId: string,
  id: string,
): Promise<MailboxMoment | undefined> {
  if (!isId(id)) return undefined;
  const { rows } = await deps.pool.query<Pick<MailboxMoment, "maxClaims" | "nowMs">>({
    name: "find_mailbox",
    text: `select t.max_claims as "maxClaims", (extract(epoch from clock_timestamp()) * 1000)::bigint as "nowMs"
           from targets t
           where t.id = $1
             and t.org_id = $2
             and t.kind = 'mailbox'`,
    values: [id, orgId],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  const { retentionMs } = deps;
  return { ...row, id, bucket: bucketOf(id), expiredBefore: firstIdAt(row.nowMs - retentionMs), retentionMs };
}

/** Whether the organization of an API key has this mailbox; for routes whose SQL function checks the key. */
export async function isMailboxOf(pool: pg.Pool, key: string, id: string): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: "find_mailbox_of_key",
    text: `select
           from api_keys k
           join targets t on t.org_id = k.org_id
           where k.key_hash = $1
             and t.id = $2
             and t.kind = 'mailbox'`,
    values: [hashCredential(key), id],
  });
  return rowCount === 1;
}

/** The distinct API keys of a batch, so that each is looked up once. A request names its key by a 1-based number. */
export function numberKeys(requests: readonly { key: string }[]) {
  const numbers = new Map<string, number>();
  const keyNumbers = requests.map(({ key }) => {
    let number = numbers.get(key);
    if (number === undefined) {
      number = numbers.size + 1;
      numbers.set(key, number);
    }
    return number;
  });
  return {
    keyHashes: byteaArray([...numbers.keys()].map(hashCredential)),
    keyNumbers: int2Array(keyNumbers),
  };
}
