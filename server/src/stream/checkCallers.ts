import type pg from "pg";
import type { Caller } from "../http/contract/credentials.ts";

/** The callers whose credential is no longer valid in the database. */
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
    // Laterals with a limit: with a join, the planner might read all keys there are for a few thousand.
    text: `select
             array(
               select replace(w.id::text, '-', '')
               from unnest($1::uuid[]) as w (id)
               left join lateral (select true as is_there from api_keys k where k.id = w.id limit 1) k on true
               where k.is_there is null
             ) as keys,
             array(
               select encode(w.hash, 'hex')
               from unnest($2::bytea[]) as w (hash)
               left join lateral (
                 select true as is_there
                 from sessions s
                 where s.token_hash = w.hash
                   and s.expires_at > extract(epoch from clock_timestamp())
                 limit 1
               ) s on true
               where s.is_there is null
             ) as tokens`,
    values: [[...keyIds], [...tokens.values()]],
  });
  const { keys, tokens: revokedTokens } = rows[0]!;
  if (keys.length + revokedTokens.length === 0) return [];
  const revoked = new Set([...keys, ...revokedTokens]);
  return streams.filter(({ caller }) =>
    revoked.has(caller.kind === "apiKey" ? caller.keyId : caller.tokenHash.toString("hex")),
  );
}
