import type pg from "pg";

/** A request as it is kept. */
export interface StoredRequest {
  targetId: string;
  id: string;
  eventId: string;
  /** JSON: pairs of name and value. */
  headers: string;
  body: Buffer;
  /** The size of the whole body, in bytes. */
  size: number;
  isVerified: boolean;
  answered: number;
}

/** A target that receives here, with its sealed signing secrets. */
export interface TryoutTarget {
  id: string;
  url: string;
  secrets: Buffer[];
}

/** The targets with these URLs, of whatever organization: a URL's token is its owner's secret. */
export async function findTryoutTargets(pool: pg.Pool, urls: readonly string[]): Promise<TryoutTarget[]> {
  const { rows } = await pool.query<{
    id: string;
    url: string;
    secret: Buffer | null;
    previous_secret: Buffer | null;
  }>({
    name: "find_tryout_targets",
    text: `select id, url, secret, previous_secret
           from targets
           where url = any ($1)
             and starts_with(url, 'https://tryout.postrider.invalid/')`,
    values: [urls],
  });
  return rows.map(({ id, url, secret, previous_secret: previous }) => ({
    id,
    url,
    secrets: [secret, previous].filter((one) => one !== null),
  }));
}

/** Keeps the requests, and of each of their targets only the last `kept`. A target that is gone keeps none. */
export async function keepRequests(
  pool: pg.Pool,
  requests: readonly StoredRequest[],
  kept: number,
): Promise<void> {
  await pool.query({
    name: "keep_tryout_requests",
    text: `insert into tryout_requests (target_id, id, event_id, headers, body, size, is_verified, answered)
           select r.target_id, r.id, r.event_id, r.headers, r.body, r.size, r.is_verified, r.answered
           from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bytea[], $6::integer[],
             $7::boolean[], $8::smallint[])
             as r (target_id, id, event_id, headers, body, size, is_verified, answered)
           join targets t on t.id = r.target_id
           on conflict do nothing`,
    values: [
      requests.map((one) => one.targetId),
      requests.map((one) => one.id),
      requests.map((one) => one.eventId),
      requests.map((one) => one.headers),
      requests.map((one) => one.body),
      requests.map((one) => one.size),
      requests.map((one) => one.isVerified),
      requests.map((one) => one.answered),
    ],
  });
  await pool.query({
    name: "drop_old_tryout_requests",
    text: `delete from tryout_requests r
           using unnest($1::uuid[]) as t (id)
           where r.target_id = t.id
             and r.id < (
               select old.id
               from tryout_requests old
               where old.target_id = t.id
               order by old.id desc
               offset $2 limit 1
             )`,
    values: [[...new Set(requests.map((one) => one.targetId))], kept - 1],
  });
}

/** The last requests that a target received, newest first. */
export async function listRequests(
  pool: pg.Pool,
  target: { orgId: string; id: string },
): Promise<Omit<StoredRequest, "targetId">[]> {
  const { rows } = await pool.query<Omit<StoredRequest, "targetId">>({
    name: "list_tryout_requests",
    text: `select
             r.id, r.event_id as "eventId", r.headers, r.body, r.size, r.is_verified as "isVerified", r.answered
           from tryout_requests r
           join targets t on t.id = r.target_id
           where t.id = $1
             and t.org_id = $2
           order by r.id desc`,
    values: [target.id, target.orgId],
  });
  return rows;
}
