import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { BodyRoom } from "./bodyRoom.ts";
import { ApiError } from "./errors.ts";
import { parseStorable } from "./json.ts";
import { readBody } from "./readBody.ts";

/**
 * Takes `application/json` bodies only, but for routes with `anyBody`, which let every other body pass unread. Routes
 * with `rawBody` get the bytes as received; the others get the parsed value, in which no string holds what PostgreSQL
 * cannot store. What is read is counted in `room` until the answer has left.
 */
export function registerBodyParser(app: FastifyInstance, maxBytes: number, room: BodyRoom): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    async (request: FastifyRequest, payload: FastifyRequest["raw"]) => {
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
      return request.takesRawBody ? body : parseStorable(body);
    },
  );
  app.addContentTypeParser("*", (request, payload, done) => {
    if (request.routeOptions.config.anyBody !== true) {
      done(new ApiError(415, "the content type must be application/json"));
      return;
    }
    payload.resume();
    done(null);
  });
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
