import type { AppDeps } from "../src/app.ts";
import { interfaceRoutes } from "../src/app.ts";
import { loadConfig } from "../src/config/config.ts";
import { type OpenApiDocument, openApiDocument } from "../src/http/openapi.ts";
import { sdkOperations } from "./sdkOperations.ts";

/** The text of `openapi.json`. */
export function openApiFile(): string {
  return `${JSON.stringify(describeInterface(), undefined, 2)}\n`;
}

/** The text of the client's generated part. */
export function sdkFile(): string {
  return sdkOperations(describeInterface());
}

/** The interface's description. Describing routes calls none of them, so that they need no database or anything else. */
export function describeInterface(): OpenApiDocument {
  const deps = { config: loadConfig({}) } as AppDeps;
  return openApiDocument(interfaceRoutes(deps));
}
