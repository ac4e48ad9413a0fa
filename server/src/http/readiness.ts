import type pg from "pg";
import { singleFlight, within } from "../runtime/within.ts";
import { awayReason, awayText } from "../postgres/awayReason.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { fsyncOffText } from "../postgres/serverPromises.ts";
import { makePartitionsNow } from "../postgres/partitions.ts";

/** A cell on a server of its own. */
export interface Apart {
  /** For warnings: its number and its server. */
  name: string;
  pool: pg.Pool;
  intake: IntakeState;
}

interface IntakeState {
  /** The error of the last batch, if it was not committed. */
  trouble(): { error: unknown; atMs: number } | undefined;
  forgetTrouble(): void;
}

/** Whether items are accepted. */
export interface Readiness {
  /** Why none is; undefined when some are. */
  refusal: string | undefined;
  /** Problems that do not stop intake, one sentence each. */
  warnings: string[];
}

export interface ReadinessDeps {
  pool: pg.Pool;
  clock: ClockCheck;
  /** Why this process cannot go on with its database; rejects when the database does not answer. */
  whyOvertaken: () => Promise<string | undefined>;
  intake: IntakeState;
  /** The cells that are on servers of their own now; none unless told. */
  apart?: () => readonly Apart[];
}

/** A balancer's own patience is often 3 s. */
const answerWithinMs = 2_000;
/** Older news of intake say nothing of now, unless a full disk made them. */
const troubleMs = 5_000;

/** How long one of several servers may take, so that one that hangs does not hide the others. */
const serverWithinMs = 1_500;

/**
 * Gives a function that says whether an item would be accepted now: it commits something,
 * sees whether this process can go on, compares the clocks, makes the partitions of today if they are missing, and looks at what
 * became of the last items. Answers within 2 s; those who ask at once share one look.
 *
 * Where cells are on servers of their own, one that is away refuses its own items only, and so does the coordinator what it
 * answers: both are warnings as long as any cell accepts items. Partitions are left to the first item that needs them, because the
 * sessions that could make them may all wait for a server that is away.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<Readiness> {
  const looking = singleFlight(async () => {
    const apart = deps.apart?.() ?? [];
    return apart.length === 0 ? look(deps) : lookApart(deps, apart);
  });
  return () => within(answerWithinMs, looking(), { refusal: awayText.slow, warnings: [] });
}

async function look(deps: ReadinessDeps): Promise<Readiness> {
  try {
    const { is_written, has_fsync } = await commitOnce(deps.pool);
    const refusal = is_written ? await whyNotNow(deps) : awayText["read-only"];
    return { refusal, warnings: has_fsync ? [] : [fsyncOffText] };
  } catch (error) {
    return { refusal: refusalBy(error), warnings: [] };
  }
}

async function whyNotNow(deps: ReadinessDeps): Promise<string | undefined> {
  const refusal = await whyNoneAccepted(deps);
  if (refusal !== undefined) return refusal;
  // The machine may have slept for longer than they are made ahead.
  await makePartitionsNow(deps.pool);
  return troubleOf(deps);
}

async function lookApart(deps: ReadinessDeps, apart: readonly Apart[]): Promise<Readiness> {
  const control = whyNoneAccepted(deps).then(
    (refusal) => ({ refusal, warning: undefined }),
    (error: unknown) => ({ refusal: undefined, warning: refusalBy(error) }),
  );
  const [{ refusal, warning }, ...reasons] = await Promise.all([
    within(serverWithinMs, control, { refusal: undefined, warning: awayText.slow }),
    ...apart.map((cell) => within(serverWithinMs, lookAtCell(cell), awayText.slow)),
  ]);
  const away = apart.flatMap(({ name }, index) =>
    reasons[index] === undefined ? [] : [`${name} accepts nothing: ${reasons[index]}`],
  );
  if (refusal !== undefined || away.length === apart.length)
    return { refusal: refusal ?? away[0], warnings: [] };
  const coordinator = warning && `the coordinator answers nothing but items and consumers: ${warning}`;
  return { refusal: undefined, warnings: coordinator ? [coordinator, ...away] : away };
}

async function lookAtCell(cell: Apart): Promise<string | undefined> {
  try {
    if (!(await commitOnce(cell.pool)).is_written) return awayText["read-only"];
    // The pool may go through the coordinator, which answers the first statement by itself and sends this one to the cell's server.
    await cell.pool.query("select bucket from deliveries where bucket = -1");
    return await troubleOf(cell);
  } catch (error) {
    return awayText[awayReason(error) ?? "away"];
  }
}

/**
 * A database without the tables answers, so it is not said to be away. The process does not end: it would make the tables anew
 * at its next start, where the database may only have been exchanged by mistake.
 */
function refusalBy(error: unknown): string {
  if ((error as { code?: string }).code === "42P01")
    return "the database that answers has no tables of Postrider: it was emptied, or is another one";
  return awayText[awayReason(error) ?? "away"];
}

interface Committed {
  is_written: boolean;
  has_fsync: boolean;
}

async function commitOnce(pool: pg.Pool): Promise<Committed> {
  const { rows } = await pool.query<Committed>(commitSomething);
  return rows[0]!;
}

/** @throws the driver's error when the database that holds the control plane is away. */
async function whyNoneAccepted({ clock, whyOvertaken }: ReadinessDeps): Promise<string | undefined> {
  const overtaken = await whyOvertaken();
  if (overtaken !== undefined) return overtaken;
  await clock.look();
  return clock.mayMakeItems() ? undefined : clock.warning();
}

async function troubleOf({ pool, intake }: Pick<Apart, "pool" | "intake">): Promise<string | undefined> {
  const trouble = intake.trouble();
  if (trouble === undefined) return undefined;
  const reason = awayReason(trouble.error) ?? "away";
  if (reason === "disk full") {
    await pool.query(takeRoom);
    intake.forgetTrouble();
    return undefined;
  }
  return performance.now() - trouble.atMs < troubleMs ? awayText[reason] : undefined;
}

/**
 * A record of the WAL that nobody reads, committed as an item is: on disk, and at a synchronous standby if there is
 * one.
 */
const commitSomething = `select case
    when pg_is_in_recovery() or current_setting('transaction_read_only')::boolean then false
    else pg_logical_emit_message(true, 'postrider', 'ready') is not null
  end as is_written,
  current_setting('fsync')::boolean as has_fsync`;

/** Takes new pages on the database's disk and gives them back. */
const takeRoom = `create temporary table postrider_room on commit drop as
  select repeat('x', 1000) as filler
  from generate_series(1, 100)`;
