import type { FastifyInstance } from "fastify";
import { ApiError } from "./errors.ts";
import { parseStorable } from "./json.ts";

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
