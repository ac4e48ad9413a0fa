import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError } from "./errors.ts";
import { parseStorable } from "./json.ts";
import type { Readable } from "node:stream";

/**
 * Takes `application/json` bodies only, but for routes with `anyBody`, which let every body pass unread. Other routes
 * with `rawBody` get the bytes as received; the others get the parsed value, in which no string holds what PostgreSQL
 * cannot store. The bytes of each body count in `room` until its answer has been sent.
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

/** Whether the route takes any body and reads none, so that neither its size nor its form matters. */
function passesUnread(request: FastifyRequest, payload: Readable): boolean {
  if (request.routeOptions.config.anyBody !== true) return false;
  payload.resume();
  return true;
}

/** @throws {ApiError} 415 for a body that is compressed: it would be read as something else than it is. */
function requireIdentity({ headers }: FastifyRequest): void {
  const coding = headers["content-encoding"];
  if (coding === undefined || /^(?:identity)?$/i.test(coding)) return;
  throw new ApiError(415, "the body must not have a Content-Encoding", "content_encoding_unsupported");
}

/** An answer that breaks off does not finish, and one that is not sent over a connection does not close. */
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

/** The sender, or the route for requests without one: anonymous requests have a share of their own. */
function ownerOf({ caller, keyOwner, routePath }: FastifyRequest): string {
  return caller?.orgId ?? keyOwner ?? routePath;
}

interface BodyLimits {
  maxBytes: number;
  /** The length that the request states; undefined when it is chunked. */
  statedBytes: number | undefined;
  /** Told of each piece before it is kept; false when there is no room for it. */
  take: (bytes: number) => boolean;
}

/** The size that is allocated for a body before it arrives. */
const firstBytes = 16 * 1024;

/**
 * Reads a body into one buffer, which grows as the body does: neither its stated length nor many small pieces cost
 * more than its bytes.
 * @throws {ApiError} 413 when it is too large, 503 when there is no room, 400 when it ends early.
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
      // A body in one piece is used as it came.
      if (length === 0 && piece.length === statedBytes) bytes = piece;
      else bytes = appended(bytes, length, piece);
      length += piece.length;
    };
    const onEnd = (): void => resolve(bytes.subarray(0, length));
    const onClose = (): void => fail(new ApiError(400, "the request ended before its body"));
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
  return new ApiError(503, "the service has no room for more bodies: try again", { retryAfterSeconds: 1 });
}

export type BodyRoom = ReturnType<typeof createBodyRoom>;

/** Bounds the memory of request bodies, from their first byte until the answer. */
export function createBodyRoom(limitBytes: number) {
  const held = new Map<string, number>();
  let total = 0;
  return {
    /**
     * Takes `bytes` for an owner; false when there is no room. An owner may hold at most as much as is still free
     * (a dynamic threshold), so that another always finds room.
     */
    take(owner: string, bytes: number): boolean {
      const own = held.get(owner) ?? 0;
      if (own + bytes > limitBytes - total) return false;
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
