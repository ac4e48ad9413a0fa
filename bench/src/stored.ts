import { type BenchService, startService } from "./benchService.ts";
import { type BenchSize, type Figure, sliceOf, warmUp } from "./figures.ts";
import { startProgram } from "./processes.ts";
import { filledByEmpty, sideBySide } from "./sideBySide.ts";
import { closedLoop, fixedItem } from "./workload.ts";

const storedEvents = 1_000_000;
const step = 100_000;

/**
 * Whether a million stored events slow intake and delivery down: two services side by side, one empty and one
 * filled, loaded by turns.
 */
export async function storedFigures(size: BenchSize): Promise<Figure[]> {
  const receiver = await startProgram("./receiver.ts");
  const url = `http://127.0.0.1:${receiver.port}/`;
  const measured = await sideBySide({
    start: (dataDir) => startSide(dataDir, url, size),
    fill: ({ service, target }) => storeEvents(service, target),
    measure: async ({ service, request }) =>
      (await closedLoop(service.port, sliceOf(size), request)).perSecond,
  });
  await receiver.stop();
  return [filledByEmpty("throughput with 1 million stored events ÷ empty", 0.9, measured)];
}

interface Side {
  service: BenchService;
  target: string;
  request: () => Buffer;
}

async function startSide(dataDir: string, url: string, size: BenchSize): Promise<Side> {
  const service = await startService({ dataDir });
  const target = await service.createTarget({ kind: "webhook", name: "bench", url });
  const request = fixedItem(service, target);
  await closedLoop(service.port, warmUp(size), request);
  return { service, target, request };
}

/** Copies one delivered event under new ids of its own millisecond, with an attempt for each. */
async function storeEvents(service: BenchService, target: string): Promise<void> {
  for (let done = 0; done < storedEvents; done += step) {
    await service.sql(
      `with made as (
         insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, event_type, payload)
         select e.bucket, e.kind, e.max_retries, false, e.target_id,
           overlay(e.id::text placing lpad(to_hex(${done} + n), 10, '0') from 25 for 10)::uuid,
           e.org_id, e.event_type, e.payload
         from (select * from events where target_id = '${target}' order by id limit 1) e
         cross join generate_series(1, ${step}) as n
         returning bucket, id, org_id, target_id
       )
       insert into attempts (bucket, number, outcome, status_code, duration_ms, event_id, org_id, target_id, attempted_at)
       select bucket, 1, 1, 200, 1, id, org_id, target_id, 0
       from made`,
    );
  }
  await service.sql("vacuum analyze");
}
