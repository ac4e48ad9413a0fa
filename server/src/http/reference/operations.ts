import type { OpenApiDocument, Operation as DocumentedOperation } from "../openapi.ts";
import type { JsonSchema } from "../openapiSchemas.ts";

/** An operation of the document, for its page. */
export type Operation = ReturnType<typeof operationOf>;

export type Response = Operation["responses"][number];

interface Content {
  schema?: JsonSchema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

interface Answer {
  description?: string;
  content?: Record<string, Content>;
}

/** Operations with other clients: `follow` for the stream, MCP clients for the tools. */
const notInSdk = ["openStream", "callTools"];

/** All operations, in the order of the document. */
export function operationsOf(document: OpenApiDocument) {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => operationOf(document, { path, method, raw })),
  );
}

function operationOf(
  document: OpenApiDocument,
  { path, method, raw }: { path: string; method: string; raw: DocumentedOperation },
) {
  const takesKey = raw.security.some((one) => "apiKey" in one);
  const session = raw.security.find((one) => "session" in one);
  const content = contentOf(raw.requestBody?.content);
  const [, success] = Object.entries(raw.responses).find(([status]) => status.startsWith("2"))!;
  return {
    operationId: raw.operationId,
    method: method.toUpperCase(),
    path,
    tag: raw.tags[0]!,
    summary: raw.summary,
    description: raw.description,
    /** Whether an API key may call it. */
    takesKey,
    /** Whether the TypeScript client has a function for the operation. */
    inSdk: takesKey && !notInSdk.includes(raw.operationId),
    /** The credential that samples use. */
    credential: takesKey ? "key" : session === undefined ? "none" : "session",
    /** The least role of a session that may call it; undefined if it needs no role. */
    leastRole: session?.["session"]?.[0],
    pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!),
    parameters: raw.parameters ?? [],
    bodySchema: content?.schema,
    /** The first example of the request's body. */
    body: exampleOf(content),
    /** The media type of a successful answer. */
    mediaType: Object.keys((success as Answer).content ?? {})[0] ?? "application/json",
    responses: Object.entries(raw.responses).map(([status, response]) => {
      const { $ref: reference } = response;
      const whole = typeof reference === "string" ? resolve(document, reference) : response;
      const { description = "", content: contents } = whole as Answer;
      const answer = contentOf(contents);
      return { status, description, schema: answer?.schema, example: exampleOf(answer) };
    }),
  };
}

function contentOf(content: Record<string, Content> | undefined): Content | undefined {
  return Object.values(content ?? {})[0];
}

function exampleOf(content: Content | undefined): unknown {
  return Object.values(content?.examples ?? {})[0]?.value ?? content?.example;
}

/** Resolves a reference within the document. */
export function resolve(document: OpenApiDocument, reference: string): unknown {
  return reference
    .slice(2)
    .split("/")
    .reduce<unknown>((place, name) => (place as Record<string, unknown>)[name], document);
}
