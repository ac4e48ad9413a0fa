import type { Operation } from "../../../src/http/openapi.ts";
import type { JsonSchema } from "../../../src/http/openapiSchemas.ts";
import { openApi } from "../contract.ts";
import { sampleOf } from "../samples.ts";
import type { RawRequest } from "./rawHttp.ts";

/** A request in parts that mutations can change separately. */
export interface Draft {
  method: string;
  /** Path and query as sent. */
  path: string;
  /** Header lines without line ends. */
  headers: string[];
  body: Buffer | undefined;
  /** Bytes after the head instead of `body` and its length. */
  rawBody?: Buffer;
  closes?: boolean;
}

/** The parts of an operation's requests. */
export interface Subject {
  operationId: string;
  method: string;
  path: string;
  operation: Operation;
  /** The schema of the body; undefined when the operation takes none. */
  body: JsonSchema | undefined;
}

/** The caller's credentials, and existing ids. */
export interface Fixture {
  key: string;
  session: string;
  /** Ids by the path's first segment after the version, or by the parameter's name. */
  ids: Record<string, string>;
}

/** Every operation except the stream, whose answer has no end. */
export const subjects: readonly Subject[] = Object.entries(openApi.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, { operationId }]) => operationId !== "openStream")
    .map(([method, operation]) => ({
      operationId: operation.operationId,
      method: method.toUpperCase(),
      path,
      operation,
      body: operation.requestBody?.content["application/json"].schema,
    })),
);

/** A request that the service accepts, or refuses only because of its id. */
export function validDraft(subject: Subject, fixture: Fixture): Draft {
  const { method, operation } = subject;
  const takesKey = operation.security.some((one) => "apiKey" in one);
  const credential = takesKey
    ? `Authorization: Bearer ${fixture.key}`
    : `X-Session-Token: ${fixture.session}`;
  return {
    method,
    path: pathOf(subject, (name) => idOf(subject, name, fixture)),
    headers: operation.security.length > 0 ? [credential] : [],
    body: subject.body && Buffer.from(JSON.stringify(sampleBody(subject))),
  };
}

/** A body that the schema accepts, with URLs that need no DNS. */
export function sampleBody({ operation, body = {} }: Subject): unknown {
  const examples = Object.values(operation.requestBody?.content["application/json"].examples ?? {});
  const sample = examples[0]?.value ?? sampleOf(body);
  const hasUrl = sample !== null && typeof sample === "object" && "url" in sample;
  return hasUrl ? { ...sample, url: "https://127.0.0.1:9/" } : sample;
}

export function pathOf({ path }: Subject, valueOf: (name: string) => string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => valueOf(name));
}

/** Deletions get an unknown id, so that the fixture's things are kept. */
export function idOf({ method, path }: Subject, name: string, { ids }: Fixture): string {
  if (method === "DELETE") return "0".repeat(32);
  return ids[name] ?? ids[path.split("/")[3] ?? ""] ?? "0".repeat(32);
}

/** The bytes of a draft, with a request to close the connection. */
export function toRequest({ method, path, headers, body, rawBody, closes }: Draft): RawRequest {
  const lines = [`${method} ${path} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers];
  const says = (name: string): boolean => headers.some((line) => line.toLowerCase().startsWith(`${name}:`));
  if (body !== undefined && !says("content-type")) lines.push("Content-Type: application/json");
  if (body !== undefined && !says("content-length") && !says("transfer-encoding")) {
    lines.push(`Content-Length: ${body.length}`);
  }
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return { pieces: [Buffer.concat([head, rawBody ?? body ?? Buffer.alloc(0)])], closes: closes === true };
}
