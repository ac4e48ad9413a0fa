import pg from "pg";
import { together } from "./together.ts";

export interface Attempt {
  jobId: string;
  number: number;
  /** 0 without an answer. */
  status: number;
  durationMs: number;
}

export async function createAttemptsTable(store: pg.PoolConfig): Promise<void> {
  const client = new pg.Client(store);
  await client.connect();
  await client.query(
    `create table attempts (
       job_id text not null,
       number integer not null,
       status_code integer not null,
       duration_ms real not null,
       attempted_at timestamptz not null default now(),
       primary key (job_id, number)
     )`,
  );
  await client.end();
}

/** Writes attempts in batches: attempts that end during a write form the next batch. Resolves once they are durable. */
export function openAttempts(store: pg.PoolConfig): { record(attempt: Attempt): Promise<void> } {
  const pool = new pg.Pool({ ...store, max: 1 });
  const commits = together<Attempt>(async (batch) => {
    await pool.query({
      name: "attempts",
      text: `insert into attempts (job_id, number, status_code, duration_ms)
             select * from unnest($1::text[], $2::integer[], $3::integer[], $4::real[])`,
      values: [
        batch.map((one) => one.jobId),
        batch.map((one) => one.number),
        batch.map((one) => one.status),
        batch.map((one) => one.durationMs),
      ],
    });
  });
  return { record: (attempt) => commits.add(attempt) };
}
