import type pg from "pg";
import type { Caller } from "../http/contract/credentials.ts";

/** Those of the callers whose credential is no longer valid, by the database as it is now. */
export async function revokedCallers<T extends { caller: Caller }>(
  pool: pg.Pool,
  streams: readonly T[],
): Promise<T[]> {
  const keyIds = new Set<string>();
  const tokens = new Map<string, Buffer>();
  for (const { caller } of streams) {
    if (caller.kind === "apiKey") keyIds.add(caller.keyId);
    else tokens.set(caller.tokenHash.toString("hex"), caller.tokenHash);
  }
  const { rows } = await pool.query<{ keys: string[]; tokens: string[] }>({
    name: "check_streams",
    text: `select
             array(select replace(k.id::text, '-', '') from api_keys k where k.id = any ($1::uuid[])) as keys,
             array(
               select encode(s.token_hash, 'hex')
               from sessions s
               where s.token_hash = any ($2::bytea[])
                 and s.expires_at > extract(epoch from clock_timestamp())
             ) as tokens`,
    values: [[...keyIds], [...tokens.values()]],
  });
  const valid = new Set([...rows[0]!.keys, ...rows[0]!.tokens]);
  return streams.filter(
    ({ caller }) => !valid.has(caller.kind === "apiKey" ? caller.keyId : caller.tokenHash.toString("hex")),
  );
}
