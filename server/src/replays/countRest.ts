import { sql } from "kysely";
import { type Config, mailboxRetentionMs } from "../config/config.ts";
import { inSnapshot, listIds } from "../events/listEvents.ts";
import type { Queries } from "../postgres/tables.ts";
import type { ClaimedReplay } from "./claimReplay.ts";
import { pageFilter } from "./replayFilter.ts";
import { withoutReplayed } from "./withoutReplayed.ts";

/** Events counted between two batches. */
const perStep = 5_000;

/**
 * Counts some more of a set that was too large to be counted while its owner waited. Moves on only from where it began,
 * so that of two nodes that count the same step one does.
 */
export async function countRest(
  deps: { config: Pick<Config, "mailboxRetentionSeconds">; queries: Queries },
  job: ClaimedReplay,
): Promise<void> {
  const { rows } = await sql<{ targetId: string; countedTo: string }>`
    select p.target_id as "targetId", p.counted_to as "countedTo"
    from replay_parts p
    where p.replay_id = ${job.id}
      and not p.is_counted
    order by p.target_id
    limit 1
  `.execute(deps.queries);
  const part = rows[0];
  if (part === undefined) return noteTotal(deps.queries, job.id);
  const scope = { orgId: job.orgId, mailboxRetentionMs: mailboxRetentionMs(deps.config) };
  const span = { after: part.countedTo, until: job.until, limit: perStep };
  const page = pageFilter({ filter: job.filter, targetId: part.targetId, scope }, span);
  const { ids, counted } = await inSnapshot(deps.queries, async (snapshot) => {
    const found = await listIds(
      snapshot,
      page,
      async (statement) => (await statement.execute(snapshot)).rows,
    );
    return { ids: found, counted: (await withoutReplayed(snapshot, job, scope, found)).length };
  });
  await sql`
    update replay_parts
    set counted = counted + ${counted},
      counted_to = ${ids.at(-1) ?? part.countedTo},
      is_counted = ${ids.length < perStep}
    where replay_id = ${job.id}
      and target_id = ${part.targetId}
      and counted_to = ${part.countedTo}
  `.execute(deps.queries);
}

async function noteTotal(queries: Queries, id: string): Promise<void> {
  await sql`
    update replays r
    set total = (select sum(p.counted) from replay_parts p where p.replay_id = r.id)
    where r.id = ${id}
      and r.status = 'RUNNING'
      and r.total is null
  `.execute(queries);
}
