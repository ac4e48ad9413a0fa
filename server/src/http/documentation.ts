import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { openApiDocument } from "./openapi.ts";
import type { RouteRow } from "./contract/routeTable.ts";

/**
 * Serves the routes' description: `/openapi.json` for programs, `/docs` for people. The page's scripts and styles
 * come out of the package, so that it works without the internet; its hooks concern no other route.
 */
export function addDocumentation(app: FastifyInstance, rows: readonly RouteRow[]): void {
  const document = openApiDocument(rows);
  const text = JSON.stringify(document);
  app.get("/openapi.json", (_request, reply) => reply.type("application/json; charset=utf-8").send(text));
  app.register(async (pages) => {
    await pages.register(swagger, { mode: "static", specification: { document: document as never } });
    await pages.register(swaggerUi, {
      routePrefix: "/docs",
      staticCSP: contentSecurityPolicy,
      theme: { title: "Postrider: interface" },
      uiConfig: { validatorUrl: null, defaultModelsExpandDepth: 0, persistAuthorization: true },
    });
  });
}

/** Everything from here and nothing from elsewhere; the page's own styles are partly inline. */
const contentSecurityPolicy =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";
