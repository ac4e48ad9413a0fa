import type pg from "pg";
import { hashCredential } from "../http/contract/credentials.ts";
import type { KeyOwner, KeyOwners } from "../http/contract/serverDeps.ts";
import { type ScopeColumns, scopeOf } from "../http/contract/scope.ts";
import { isDatabaseAway } from "../postgres/pool.ts";
import { GroupCommit } from "../runtime/groupCommit.ts";

/** Length of a cache generation. Owners stay cached for one to two generations; then the key is looked up again. */
const generationMs = 60_000;
/** Maximum number of keys in one generation; one more begins the next generation early. */
const maxKeys = 50_000;
const maxBatch = 256;
const maxQueued = 10_000;

/**
 * Caches the owners of API keys, and looks up the keys of concurrent requests in one statement (group commit).
 * @param copies servers with a copy of the keys, which answer while the control plane is away.
 */
export function createKeyOwners(
  pool: pg.Pool,
  copies: () => readonly pg.Pool[] = () => [],
): KeyOwners & { stop(): void } {
  let young = new Map<string, KeyOwner>();
  let old = young;
  const turn = (): void => {
    old = young;
    young = new Map();
  };
  const timer = setInterval(turn, generationMs);
  timer.unref();
  const lookUps = new GroupCommit<string, KeyOwner | undefined>({
    run: (keys) => findAnywhere([pool, ...copies()], keys),
    isPieceAtFault: (error) => !isDatabaseAway(error),
    sizeOf: (key) => key.length,
    maxBatch,
    maxBatchBytes: Number.POSITIVE_INFINITY,
    maxQueued,
  });
  return {
    known: (key) => young.get(key) ?? old.get(key),
    async find(key) {
      const owner = await lookUps.add(key);
      if (owner === undefined) {
        young.delete(key);
        old.delete(key);
      } else {
        if (young.size >= maxKeys) turn();
        young.set(key, owner);
      }
      return owner;
    },
    stop: () => clearInterval(timer),
  };
}

/** Finds the owners of keys on the first server that answers. */
async function findAnywhere(
  [pool, ...others]: readonly pg.Pool[],
  keys: string[],
): Promise<(KeyOwner | undefined)[]> {
  try {
    return await findOwners(pool!, keys);
  } catch (error) {
    if (others.length === 0 || !isDatabaseAway(error)) throw error;
    return findAnywhere(others, keys);
  }
}

async function findOwners(pool: pg.Pool, keys: string[]): Promise<(KeyOwner | undefined)[]> {
  const hashes = keys.map(hashCredential);
  const { rows } = await pool.query<{ key_hash: Buffer; org_id: string } & ScopeColumns>({
    name: "find_key_owners",
    text: `select key_hash, org_id, scope, customer_uid, mailbox_ids
           from api_keys
           where key_hash = any ($1::bytea[])`,
    values: [hashes],
  });
  const owners = new Map(
    rows.map((row) => [row.key_hash.toString("hex"), { orgId: row.org_id, scope: scopeOf(row) }]),
  );
  return hashes.map((hash) => owners.get(hash.toString("hex")));
}
