import { type AppDeps, interfaceRoutes } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { type OpenApiDocument, openApiDocument } from "../src/http/openapi.ts";
import type { RouteRecord } from "../src/http/contract/route.ts";
import { routesPage } from "./routesPage.ts";
import { sdkOperations } from "./sdkOperations.ts";

/** The text of `openapi.json`. */
export function openApiFile(): string {
  return `${JSON.stringify(describeInterface(), undefined, 2)}\n`;
}

/** The text of the SDK's generated file. */
export function sdkFile(): string {
  return sdkOperations(describeInterface());
}

/** The text of `docs/routes.md`. */
export function routesFile(): string {
  return routesPage(describedRoutes());
}

/** The OpenAPI document of the interface. */
export function describeInterface(): OpenApiDocument {
  return openApiDocument(describedRoutes());
}

/** All routes, for their descriptions. Created without a database or other dependencies, because none is called. */
function describedRoutes(): RouteRecord[] {
  return interfaceRoutes({ config: loadConfig({}) } as AppDeps);
}
