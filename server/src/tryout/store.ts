import type pg from "pg";

/**
 * The origin whose receiver is the service itself. No such host can exist (RFC 6761, section 6.4), so that a delivery to it never
 * leaves the service, even if the address guard allowed the address.
 */
export const tryoutOrigin = "https://tryout.postrider.invalid";

const form = /^https:\/\/tryout\.postrider\.invalid\/[0-9a-f]{32}(?:\?answer=([2-5]\d{2}))?$/;

/** Whether the URL names the service's own receiver, well-formed or not. */
export function isTryoutUrl(url: string): boolean {
  return url.startsWith(`${tryoutOrigin}/`) || url === tryoutOrigin;
}

/** Why the URL cannot be used, as words after `url`; undefined when it can. */
export function refuseTryoutUrl(url: string): string | undefined {
  if (form.test(url)) return undefined;
  return `must be ${tryoutOrigin}/ with 32 lower-case hex characters that you chose at random, and optionally ?answer= with a status from 200 to 599`;
}

/** The status with which the receiver answers: 200 unless the URL says otherwise. */
export function answerOf(url: string): number {
  return Number(form.exec(url)?.[1] ?? 200);
}

export interface StoredRequest {
  targetId: string;
  id: string;
  eventId: string;
  /** JSON array of pairs of name and value. */
  headers: string;
  body: Buffer;
  /** The size of the whole body, in bytes. */
  size: number;
  isVerified: boolean;
  answered: number;
}

/** A target whose receiver is the service itself, with its sealed signing secrets. */
export interface TryoutTarget {
  id: string;
  url: string;
  secrets: Buffer[];
}

/** The targets with these URLs, in all organizations: the token in a URL is its owner's secret. */
export async function findTryoutTargets(pool: pg.Pool, urls: readonly string[]): Promise<TryoutTarget[]> {
  const { rows } = await pool.query<TryoutTarget>({
    name: "find_tryout_targets",
    text: `select id, url, array_remove(array[secret, previous_secret], null) as secrets
           from targets
           where url = any ($1)
             and starts_with(url, '${tryoutOrigin}/')`,
    values: [urls],
  });
  return rows;
}

/** Stores the requests, and deletes all but the last `kept` of each target. Requests of a deleted target are not stored. */
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
