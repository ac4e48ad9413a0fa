import type { BenchService } from "../benchService.ts";

const step = 100_000;

/** Stores copies of the target's oldest event. Their ids keep its millisecond and bucket, and are numbered from `from`. */
function insertCopies(target: string, from: number, count: number): string {
  const copies = `
    select e.*, overlay(e.id::text placing lpad(to_hex(${from} + n), 10, '0') from 25 for 10)::uuid as new_id, n
    from (select * from events where target_id = '${target}' order by id limit 1) e
    cross join generate_series(1, ${count}) as n`;
  return `
    insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, event_type, payload)
    select bucket, kind, max_retries, false, target_id, new_id, org_id, event_type, payload
    from (${copies}) e
    returning bucket, id, org_id, target_id`;
}

/** Stores `count` copies of the target's oldest item, as delivered. */
export async function storeItems(service: BenchService, target: string, count: number): Promise<void> {
  for (let done = 0; done < count; done += step) {
    await service.sql(
      `with made as (
         ${insertCopies(target, done, Math.min(step, count - done))}
       )
       insert into attempts (bucket, number, outcome, status_code, duration_ms, event_id, org_id, target_id, attempted_at)
       select bucket, 1, 1, 200, 3, id, org_id, target_id, 0
       from made`,
    );
  }
  await service.sql("vacuum analyze");
}

/** Stores `count` copies of the mailbox's oldest message, as ready. */
export async function storeMessages(service: BenchService, mailbox: string, count: number): Promise<void> {
  for (let done = 0; done < count; done += step) {
    await service.sql(
      `with made as (
         ${insertCopies(mailbox, done, Math.min(step, count - done))}
       ),
       put as (
         insert into messages (bucket, mailbox_id, id)
         select bucket, target_id, id
         from made
         order by id
         returning bucket
       )
       insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
       select min(bucket), extract(epoch from now())::integer / 60, count(*), 0, count(*), '${mailbox}'
       from put`,
    );
  }
  await service.sql("vacuum analyze");
}
