import type pg from "pg";
import { createDeadlines, type DeadlineLink, type Expiring } from "../../runtime/deadlines.ts";
import { compositeReader, type FieldReader, fieldReaderOf } from "./binaryRow.ts";
import { giveBack, writeCall } from "./callMessage.ts";
import type { Composites, FunctionCall } from "./functionCall.ts";
import type { DriverConnection } from "./privateParts.ts";
import { callPlain } from "./plainCall.ts";
import { queryLimitOf, unanswered } from "./queryLimit.ts";
import { isTapped, type RowReader, tapOf } from "./rowTap.ts";

/**
 * Calls a function of the hot path as a named prepared statement. The driver would assemble a call from many small buffers
 * and copy each parameter twice; here the whole call is one message, written once into reusable memory. Rows are returned in
 * binary form: see {@link fieldReaderOf} for the supported types. When `POSTRIDER_FAST_SQL` is off, the driver alone runs the
 * statement.
 */
export async function callHot<R extends pg.QueryResultRow>(pool: pg.Pool, call: FunctionCall): Promise<R[]> {
  if (!isTapped(pool)) return callPlain(pool, call);
  // Encoded here and not in submit, where an exception would not be caught.
  const message = writeCall(call);
  const query = new CallQuery(call, message, queryLimitOf(pool));
  deadlines.add(query);
  try {
    // The pool returns a promise here too, although its types expect a stream.
    await (pool.query(query as unknown as pg.Submittable) as unknown as Promise<unknown>);
  } finally {
    deadlines.remove(query);
  }
  // After an answer, the server has read the whole message. Without an answer the driver may still hold the message.
  giveBack(message);
  return query.rows as R[];
}

const deadlines = createDeadlines();

/** A column of a function's rows. */
interface Column {
  name: string;
  read: FieldReader;
}

/**
 * The columns by the statement's name, for each connection that has prepared the statement. On one connection the columns are
 * the same in every call; otherwise PostgreSQL refuses the call.
 */
const columnsOf = new WeakMap<DriverConnection, Map<string, readonly Column[]>>();

/**
 * A call in the form that the driver runs (its `Submittable`). The driver's own query is an event emitter whose result
 * determines its columns anew in each call, and costs as much as the rest of a small call.
 */
class CallQuery implements Expiring, RowReader {
  readonly name: string;
  readonly text: string;
  readonly rows: Record<string, unknown>[] = [];
  readonly timeoutMs: number;
  link: DeadlineLink | null = null;
  /** Set by the driver. */
  callback: ((error: Error | null, result?: unknown) => void) | null = null;
  readonly #message: Buffer;
  readonly #composites: Composites | undefined;
  #known: Map<string, readonly Column[]> | undefined;
  #columns: readonly Column[] | undefined;
  #tap: { reader: RowReader | null } | undefined;
  /** Why the rows cannot be read. */
  #fault: unknown;

  constructor({ name, text, composites }: FunctionCall, message: Buffer, timeoutMs: number) {
    this.timeoutMs = timeoutMs;
    this.name = name;
    this.text = text;
    this.#composites = composites;
    this.#message = message;
  }

  /**
   * Ends a call that the server does not answer; the pool closes the connection. The time limit of a call that still waits
   * for a connection starts again: the pool limits that wait, and the time after it would otherwise have no limit.
   */
  expire(): void {
    if (this.callback === null) deadlines.add(this);
    else this.callback(new Error(unanswered));
  }

  submit(connection: DriverConnection): void {
    this.#known = columnsOf.get(connection) ?? new Map<string, readonly Column[]>();
    columnsOf.set(connection, this.#known);
    this.#columns = this.#known.get(this.name);
    this.#tap = tapOf(connection);
    this.#tap.reader = this;
    if (connection.parsedStatements[this.name] === undefined) connection.parse(this);
    if (this.#columns === undefined) connection.describe({ type: "S", name: this.name });
    connection.stream.write(this.#message);
  }

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    try {
      this.#columns = fields.map(({ name, dataTypeID }) => {
        const composite = this.#composites?.[name];
        const read = composite ? compositeReader(Object.keys(composite)) : fieldReaderOf(dataTypeID);
        return { name, read };
      });
      this.#known?.set(this.name, this.#columns);
    } catch (error) {
      this.#fault = error;
    }
  }

  readRow(message: Buffer, start: number): void {
    const columns = this.#columns;
    if (columns === undefined) return;
    const row: Record<string, unknown> = {};
    // Skips the number of fields, which equals the number of columns.
    let at = start + 2;
    for (const { name, read } of columns) {
      const length = message.readInt32BE(at);
      at += 4;
      if (length === absent) {
        row[name] = null;
      } else {
        row[name] = read(message, at, length);
        at += length;
      }
    }
    this.rows.push(row);
  }

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handleReadyForQuery(): void {
    this.#close();
    if (this.#fault === undefined) this.callback?.(null, this);
    else this.callback?.(this.#fault as Error);
  }

  handleError(error: Error): void {
    this.#close();
    this.callback?.(error);
  }

  #close(): void {
    if (this.#tap?.reader === this) this.#tap.reader = null;
  }
}

/** The length field of a null. */
const absent = -1;
