import { type AppDeps, interfaceRoutes } from "../../src/app.ts";
import { loadConfig } from "../../src/config/config.ts";
import { templatePath } from "../../src/http/openapi.ts";
import { openApi } from "./contract.ts";
import { sampleOf } from "./samples.ts";
import type { Answer, CallOptions, TestNode } from "./testNode.ts";

/** Every route of the interface. */
export const rows = interfaceRoutes({ config: loadConfig({}) } as AppDeps).map(
  ({ method, path, credential, leastRole: least, scope, operationId, audit }) =>
    ({ method, path, credential, least, takes: scope?.takes ?? [], operationId, audit }) as const,
);
export type Row = (typeof rows)[number];

/** An id that nothing has. */
export const unknownId = "0".repeat(32);

/** A body that the route's schema accepts. */
export function bodyOf({ method, path }: Row): object | undefined {
  const operation = openApi.paths[templatePath(path.split("?", 1)[0]!)]![method.toLowerCase()]!;
  if (operation.requestBody === undefined) return undefined;
  const { examples = {}, schema } = operation.requestBody.content["application/json"];
  return (Object.values(examples)[0]?.value ?? sampleOf(schema)) as object;
}

/** Calls a route with such a body, unless `options` has one, and `id` for all parameters of its path. */
export function callRow(
  node: Pick<TestNode, "call">,
  row: Row,
  options: CallOptions,
  id: string = unknownId,
): Promise<Answer> {
  const body = bodyOf(row);
  return node.call(row.method, row.path.replaceAll(/:\w+/g, id), { ...(body && { body }), ...options });
}
