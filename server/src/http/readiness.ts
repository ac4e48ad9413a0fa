import type pg from "pg";
import { awayReason, awayText } from "../postgres/awayReason.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { makePartitionsNow } from "../postgres/partitions.ts";

export interface ReadinessDeps {
  pool: pg.Pool;
  clock: ClockCheck;
  /** Why this process cannot go on with its database; rejects when the database does not answer. */
  whyOvertaken: () => Promise<string | undefined>;
  /** The error of intake's last batch, if it was not committed. */
  intake: {
    trouble(): { error: unknown; atMs: number } | undefined;
    forgetTrouble(): void;
  };
}

/** A balancer's own patience is often 3 s. */
const answerWithinMs = 2_000;
/** Older news of intake say nothing of now, unless a full disk made them. */
const troubleMs = 5_000;

/**
 * Gives a function that says why an item would not be accepted now, or undefined when it would: it commits something,
 * sees whether this process can go on, compares the clocks, makes the partitions of today if they are missing, and looks at what
 * became of the last items. Answers within 2 s; those who ask at once share one look.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<string | undefined> {
  const looking = singleFlight(() => look(deps));
  return () => withinLimit(looking());
}

async function look(deps: ReadinessDeps): Promise<string | undefined> {
  try {
    const { rows } = await deps.pool.query<{ is_written: boolean }>(commitSomething);
    if (!rows[0]!.is_written) return awayText["read-only"];
    const overtaken = await deps.whyOvertaken();
    if (overtaken !== undefined) return overtaken;
    await deps.clock.look();
    if (!deps.clock.mayMakeItems()) return deps.clock.warning();
    // The machine may have slept for longer than they are made ahead.
    await makePartitionsNow(deps.pool);
    const trouble = deps.intake.trouble();
    if (trouble === undefined) return undefined;
    const reason = awayReason(trouble.error) ?? "away";
    if (reason === "disk full") {
      await deps.pool.query(takeRoom);
      deps.intake.forgetTrouble();
      return undefined;
    }
    return performance.now() - trouble.atMs < troubleMs ? awayText[reason] : undefined;
  } catch (error) {
    return awayText[awayReason(error) ?? "away"];
  }
}

/**
 * A record of the WAL that nobody reads, committed as an item is: on disk, and at a synchronous standby if there is
 * one.
 */
const commitSomething = `select case
    when pg_is_in_recovery() or current_setting('transaction_read_only')::boolean then false
    else pg_logical_emit_message(true, 'postrider', 'ready') is not null
  end as is_written`;

/** Takes new pages on the database's disk and gives them back. */
const takeRoom = `create temporary table postrider_room on commit drop as
  select repeat('x', 1000) as filler
  from generate_series(1, 100)`;

function withinLimit(answer: Promise<string | undefined>): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, answerWithinMs, awayText.slow);
    void answer.then((reason) => {
      clearTimeout(timer);
      resolve(reason);
    });
  });
}

/** Single flight: calls during `work` share its result or error; a later call runs it again. */
export function singleFlight<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => {
    underWay ??= work().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
