import type { FastifyInstance } from "fastify";
import { notFound } from "../contract/errors.ts";
import type { RouteRecord } from "../contract/route.ts";
import { openApiDocument } from "../openapi.ts";
import { referencePages, type ReferencePage } from "./referencePages.ts";

interface Documentation {
  text: Buffer;
  pages: ReadonlyMap<string, ReferencePage>;
}

/**
 * Serves the description of the routes: `/openapi.json` for programs, `/docs` for people. It is built at the first request,
 * because building it would take a tenth of the CPU time of a start.
 */
export function addDocumentation(app: FastifyInstance, routes: readonly RouteRecord[]): void {
  let made: Documentation | undefined;
  const documentation = (): Documentation => (made ??= describe(routes));
  app.get("/openapi.json", (_request, reply) =>
    reply.type("application/json; charset=utf-8").send(documentation().text),
  );
  app.get("/docs", (_request, reply) => {
    const { contentType, body } = documentation().pages.get("")!;
    return reply.header("content-security-policy", contentSecurityPolicy).type(contentType).send(body);
  });
  app.get<{ Params: { "*": string } }>("/docs/*", (request, reply) => {
    const name = request.params["*"];
    if (name === "") return reply.redirect("../docs", 308);
    const page = documentation().pages.get(name);
    if (page === undefined) throw notFound();
    return reply
      .header("content-security-policy", contentSecurityPolicy)
      .type(page.contentType)
      .send(page.body);
  });
}

function describe(routes: readonly RouteRecord[]): Documentation {
  const document = openApiDocument(routes);
  return { text: Buffer.from(JSON.stringify(document)), pages: referencePages(document) };
}

/** Only content from this origin. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
