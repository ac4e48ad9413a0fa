import { EventEmitter } from "node:events";
import type { Readable } from "node:stream";
import type pg from "pg";
import { connectionOf, type DriverConnection } from "./privateParts.ts";

/** Reads the rows of the query that a connection is answering. */
export interface RowReader {
  /** Reads the row whose fields begin at offset `at`. Never throws. */
  readRow(message: Buffer, at: number): void;
}

/**
 * Reads DataRow messages from a connection's bytes before the driver converts each field to a string, and passes all other
 * messages to the driver unchanged.
 */
export class RowTap {
  /** Reader of the current query's rows; null while the driver reads the rows itself. */
  reader: RowReader | null = null;
  /** The stream that the driver reads instead of the connection's. */
  readonly rest = new EventEmitter();
  /** Pieces of an incomplete message. */
  #pieces: Buffer[] = [];
  #gathered = 0;
  /** Number of bytes to gather before the message is parsed again. */
  #needed = 0;

  take(piece: Buffer): void {
    if (this.#gathered === 0) {
      this.#read(piece);
      return;
    }
    this.#pieces.push(piece);
    this.#gathered += piece.length;
    if (this.#gathered < this.#needed) return;
    const data = Buffer.concat(this.#pieces, this.#gathered);
    this.#pieces = [];
    this.#gathered = 0;
    this.#read(data);
  }

  #read(data: Buffer): void {
    /** All bytes before this offset have been passed on or read. */
    let done = 0;
    let at = 0;
    let needed = headBytes;
    while (at + headBytes <= data.length) {
      const end = at + 1 + data.readUInt32BE(at + 1);
      if (end > data.length) {
        needed = end - at;
        break;
      }
      if (data[at] === dataRow && this.reader !== null) {
        // Earlier messages go first: a RowDescription among them names the columns.
        if (done < at) this.rest.emit("data", data.subarray(done, at));
        this.reader?.readRow(data, at + headBytes);
        done = end;
      }
      at = end;
    }
    if (at < data.length) {
      this.#pieces = [data.subarray(at)];
      this.#gathered = data.length - at;
      this.#needed = needed;
    }
    if (done < at) this.rest.emit("data", data.subarray(done, at));
  }
}

/*
 * PostgreSQL documentation, "Frontend/Backend Protocol", message formats: a letter, then the length of all that follows
 * the letter.
 */
const headBytes = 5;
const dataRow = 0x44;

const taps = new WeakMap<DriverConnection, RowTap>();
/** Set as a property of a pool, so that pools derived from the pool have it too (`limitQueries`). */
const tapped = Symbol("tapped");

/** Puts a tap into a connection that has not been opened yet. */
export function tapRows(client: pg.ClientBase): void {
  const connection = connectionOf(client);
  const tap = new RowTap();
  taps.set(connection, tap);
  const attach = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    stream.on("data", (piece: Buffer) => tap.take(piece));
    attach(tap.rest as Readable);
  };
}

/** Marks the pool: each of its connections has a tap. */
export function notePool(pool: pg.Pool): void {
  Object.defineProperty(pool, tapped, { value: true });
}

/** Whether every connection of the pool has a tap. */
export function isTapped(pool: pg.Pool): boolean {
  return tapped in pool;
}

/** Returns the tap of a connection. @throws {Error} when the connection's pool has no taps. */
export function tapOf(connection: DriverConnection): RowTap {
  const tap = taps.get(connection);
  if (tap === undefined) throw new Error("the connection has no tap");
  return tap;
}
