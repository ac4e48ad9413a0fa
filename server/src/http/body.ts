import type { FastifyInstance } from "fastify";
import { ApiError } from "./errors.ts";
import { parseJson } from "./json.ts";

/** How deep a JSON document may nest; deeper ones cost stack and mean nothing to anybody. */
const maxDepth = 64;

/**
 * Takes `application/json` bodies only, but for routes with `anyBody`, which let every other body pass unread. Routes with `rawBody` get the bytes as received; the others get the parsed
 * value, in which no string holds what PostgreSQL cannot store.
 */
export function registerBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>("application/json", { parseAs: "buffer" }, (request, body, done) => {
    try {
      done(null, request.takesRawBody ? body : parseStorable(body));
    } catch (error) {
      done(error as Error);
    }
  });
  app.addContentTypeParser("*", (request, payload, done) => {
    if (request.routeOptions.config.anyBody !== true) {
      done(new ApiError(415, "the content type must be application/json"));
      return;
    }
    payload.resume();
    done(null);
  });
}

function parseStorable(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  const value = parseJson(body);
  refuseUnstorable(value, 0);
  return value;
}

function refuseUnstorable(value: unknown, depth: number): void {
  if (depth > maxDepth) throw new ApiError(400, `the body nests deeper than ${maxDepth} levels`);
  if (typeof value === "string") {
    if (value.includes("\0")) throw new ApiError(400, "the body has a NUL character, which cannot be stored");
    if (!value.isWellFormed()) throw new ApiError(400, "the body has a lone surrogate, which is not text");
  } else if (Array.isArray(value)) {
    for (const element of value) refuseUnstorable(element, depth + 1);
  } else if (value !== null && typeof value === "object") {
    for (const [name, member] of Object.entries(value)) {
      refuseUnstorable(name, depth + 1);
      refuseUnstorable(member, depth + 1);
    }
  }
}
