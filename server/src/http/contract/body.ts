import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError } from "./errors.ts";
import { parseStorable } from "./json.ts";
import type { Readable } from "node:stream";

/**
 * Accepts only `application/json` bodies, except for routes with `anyBody`, which accept any body and do not read it. Other
 * routes with `rawBody` get the bytes as received. All others get the parsed value, whose strings PostgreSQL can store. The bytes
 * of each body count in `room` until its answer has been sent.
 */
export function registerBodyParser(app: FastifyInstance, maxBytes: number, room: BodyRoom): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    async (request: FastifyRequest, payload: FastifyRequest["raw"]) => {
      if (passesUnread(request, payload)) return undefined;
      requireIdentity(request);
      const owner = ownerOf(request);
      let heldBytes = 0;
      onceOver(request.answer, () => room.giveBack(owner, heldBytes));
      const body = await readBody(payload, {
        maxBytes,
        statedBytes: statedBytes(request),
        take(bytes) {
          if (!room.take(owner, bytes)) return false;
          heldBytes += bytes;
          return true;
        },
      });
      return request.takesRawBody ? body : parseStorable(body, request.routeOptions.config.keptField);
    },
  );
  app.addContentTypeParser("*", (request, payload, done) => {
    const isTaken = passesUnread(request, payload);
    done(isTaken ? null : new ApiError(415, "the content type must be application/json"));
  });
}

/** If the route accepts any body, discards the body and returns true: its size and form do not matter. */
function passesUnread(request: FastifyRequest, payload: Readable): boolean {
  if (request.routeOptions.config.anyBody !== true) return false;
  payload.resume();
  return true;
}

/** @throws {ApiError} 415 for a body with a Content-Encoding, because bodies are not decoded. */
function requireIdentity({ headers }: FastifyRequest): void {
  const coding = headers["content-encoding"];
  if (coding === undefined || /^(?:identity)?$/i.test(coding)) return;
  throw new ApiError(415, "the body must not have a Content-Encoding", "content_encoding_unsupported");
}

/** Calls `release` once, at `finish` or `close`: an aborted answer emits no `finish`, an injected one no `close`. */
function onceOver(answer: ServerResponse, release: () => void): void {
  let isOver = false;
  const end = (): void => {
    if (!isOver) release();
    isOver = true;
  };
  answer.once("finish", end).once("close", end);
}

/** The length that a request states for its body; undefined when it is chunked. */
export function statedBytes({ headers }: FastifyRequest): number | undefined {
  const stated = headers["content-length"];
  return stated === undefined ? undefined : Number(stated);
}

/** The owner for fair shares: the organization, or the route for anonymous requests, which have their own share. */
function ownerOf({ caller, keyOwner, routePath }: FastifyRequest): string {
  return caller?.orgId ?? keyOwner ?? routePath;
}

interface BodyLimits {
  maxBytes: number;
  /** The length that the request states; undefined when it is chunked. */
  statedBytes: number | undefined;
  /** Called for each piece before it is stored; returns false when there is no room for it. */
  take: (bytes: number) => boolean;
}

/** The least size of the buffer that is allocated for a body. */
const firstBytes = 16 * 1024;

/**
 * Reads a body into one buffer, which grows with the body: a large stated length or many small pieces cost no more memory than
 * the bytes themselves.
 * @throws {ApiError} 413 when the body is too large, 503 when there is no room, 400 when the body ends early.
 */
function readBody(source: Readable, limits: BodyLimits): Promise<Buffer> {
  const { maxBytes, statedBytes, take } = limits;
  return new Promise((resolve, reject) => {
    let bytes: Buffer = nothing;
    let length = 0;
    const fail = (error: ApiError): void => {
      source.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
      source.on("error", () => undefined);
      source.pause();
      reject(error);
    };
    const onData = (piece: Buffer): void => {
      if (length + piece.length > maxBytes) return fail(tooLarge());
      if (!take(piece.length)) return fail(noRoom());
      // A body that arrives in one piece is not copied.
      if (length === 0 && piece.length === statedBytes) bytes = piece;
      else bytes = appended(bytes, length, piece);
      length += piece.length;
    };
    const onEnd = (): void => resolve(bytes.subarray(0, length));
    const onClose = (): void => fail(new ApiError(400, "the connection ended before the end of the body"));
    if (statedBytes !== undefined && statedBytes > maxBytes) return fail(tooLarge());
    source.on("data", onData).on("end", onEnd).on("error", onClose).on("close", onClose);
  });
}

const nothing = Buffer.alloc(0);

function appended(bytes: Buffer, length: number, piece: Buffer): Buffer {
  const needed = length + piece.length;
  let whole = bytes;
  if (needed > bytes.length) {
    whole = Buffer.allocUnsafeSlow(Math.max(needed, 2 * bytes.length, firstBytes));
    bytes.copy(whole, 0, 0, length);
  }
  piece.copy(whole, length);
  return whole;
}

function tooLarge(): ApiError {
  return new ApiError(413, "the body is larger than the limit (POSTRIDER_MAX_BODY_BYTES)");
}

function noRoom(): ApiError {
  return new ApiError(503, "the service has no memory for another body: try again", { retryAfterSeconds: 1 });
}

export type BodyRoom = ReturnType<typeof createBodyRoom>;

/** Bounds the memory of request bodies, from the first byte until the answer. */
export function createBodyRoom(limitBytes: number) {
  const held = new Map<string, number>();
  let total = 0;
  return {
    /**
     * Reserves `bytes` for an owner; returns false when there is no room. An owner may hold at most as many bytes as are free (a
     * dynamic threshold), so that other owners always find room.
     */
    take(owner: string, bytes: number): boolean {
      const own = held.get(owner) ?? 0;
      if (own + bytes > limitBytes - total - bytes) return false;
      held.set(owner, own + bytes);
      total += bytes;
      return true;
    },
    giveBack(owner: string, bytes: number): void {
      const rest = (held.get(owner) ?? 0) - bytes;
      if (rest > 0) held.set(owner, rest);
      else held.delete(owner);
      total -= bytes;
    },
    heldBytes: () => total,
  };
}
