import type { AppDeps } from "../src/app.ts";
import { interfaceTable } from "../src/app.ts";
import { loadConfig } from "../src/config.ts";
import { openApiDocument } from "../src/http/openapi.ts";

/** The text of `openapi.json`. Describing routes calls none, so that they need no database or anything else. */
export function openApiFile(): string {
  const deps = { config: loadConfig({}) } as AppDeps;
  return `${JSON.stringify(openApiDocument(interfaceTable(deps)), undefined, 2)}\n`;
}
