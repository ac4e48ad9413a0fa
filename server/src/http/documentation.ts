import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { notFound } from "./contract/errors.ts";
import { openApiDocument } from "./openapi.ts";
import type { RouteRow } from "./contract/routeTable.ts";

/**
 * Serves the routes' description: `/openapi.json` for programs, `/docs` for people. The page's scripts and styles
 * come out of the package, so that it works without the internet. Each answer is made once and kept, at the first request:
 * describing all routes is a tenth of the processor time that a start takes.
 */
export function addDocumentation(app: FastifyInstance, rows: readonly RouteRow[]): void {
  let made: Documentation | undefined;
  const documentation = (): Documentation => (made ??= describe(rows));
  app.get("/openapi.json", (_request, reply) =>
    reply.type("application/json; charset=utf-8").send(documentation().text),
  );
  const page: Answer = (request, reply) => documentation().page(request, reply);
  app.get("/docs", page);
  app.get("/docs/*", page);
}

type Answer = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

interface Documentation {
  text: Buffer;
  page: Answer;
}

function describe(rows: readonly RouteRow[]): Documentation {
  const document = openApiDocument(rows);
  return { text: Buffer.from(JSON.stringify(document)), page: createPages(document) };
}

interface Page {
  contentType: string;
  body: Buffer;
}

/** More than there are pages, for one path may be written in several ways. */
const maxPages = 32;

/** The readable page and its parts, by path. A server that listens nowhere makes each at its first request. */
function createPages(document: object): Answer {
  const maker = fastify({ logger: false });
  maker.register(swagger, { mode: "static", specification: { document: document as never } });
  maker.register(swaggerUi, {
    routePrefix: "/docs",
    theme: { title: "Postrider: interface" },
    uiConfig: { validatorUrl: null, defaultModelsExpandDepth: 0, persistAuthorization: true },
  });
  const pages = new Map<string, Promise<Page | undefined>>();
  async function make(path: string): Promise<Page | undefined> {
    const { statusCode, headers, rawPayload } = await maker.inject(path);
    if (statusCode === 200) return { contentType: String(headers["content-type"]), body: rawPayload };
    pages.delete(path);
    return undefined;
  }
  return async (request, reply) => {
    const path = request.url.replace(/[?#].*/s, "");
    let made = pages.get(path);
    if (made === undefined) {
      made = make(path);
      if (pages.size < maxPages) pages.set(path, made);
    }
    const page = await made;
    if (page === undefined) throw notFound();
    return reply
      .header("content-security-policy", contentSecurityPolicy)
      .type(page.contentType)
      .send(page.body);
  };
}

/** Everything from here and nothing from elsewhere; the page's own styles are partly inline. */
const contentSecurityPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";
