import type { JsonSchema } from "../../../src/http/openapiSchemas.ts";
import { type Draft, type Fixture, idOf, pathOf, sampleBody, type Subject } from "./drafts.ts";
import {
  brokenChunks,
  hostileBodies,
  hostileContentTypes,
  hostileHeaderLines,
  hostileHeaderValues,
  hostileJson,
  hostileTexts,
  otherMethods,
} from "./hostile.ts";

/** One change that makes a request of an operation invalid. */
export interface Mutation {
  what: string;
  apply: (draft: Draft) => Draft;
}

/** Larger than the service accepts by default. */
const oversized = Buffer.from(JSON.stringify("x".repeat(1024 * 1024 + 1)));

/** Every single mutation of the operation's request: thousands over the whole document. */
export function mutationsOf(subject: Subject, fixture: Fixture): Mutation[] {
  return [
    ...bodyMutations(subject),
    ...pathMutations(subject, fixture),
    ...queryMutations(subject),
    ...headerMutations(subject),
    ...framingMutations(subject),
    ...otherMethods.map((method) => mutation(`method ${method}`, (draft) => ({ ...draft, method }))),
  ];
}

function mutation(what: string, apply: Mutation["apply"]): Mutation {
  return { what: what.length > 120 ? `${what.slice(0, 120)}…` : what, apply };
}

function bodyMutations(subject: Subject): Mutation[] {
  const whole = [
    ...hostileBodies.map((body) => [JSON.stringify(body.toString("latin1")), body] as const),
    ...hostileJson.map((text) => [text, Buffer.from(text)] as const),
    ["oversized", oversized] as const,
  ];
  const replaced = whole.map(([what, body]) => mutation(`body ${what}`, (draft) => ({ ...draft, body })));
  if (subject.body === undefined) return replaced.slice(0, 12);
  const properties = (subject.body["properties"] as Record<string, JsonSchema> | undefined) ?? {};
  const texts = [...hostileJson, undefined];
  const fields = Object.keys(properties).flatMap((name) =>
    texts.map((text) => fieldMutation(subject, name, text)),
  );
  return [...replaced, ...fields];
}

/** Replaces one field by a JSON text; undefined removes the field. */
function fieldMutation(subject: Subject, name: string, text: string | undefined): Mutation {
  return mutation(`field ${name} ${text ?? "missing"}`, (draft) => {
    const fields = Object.entries(sampleBody(subject) as Record<string, unknown>)
      .filter(([other]) => other !== name)
      .map(([other, value]) => `${JSON.stringify(other)}:${JSON.stringify(value)}`);
    if (text !== undefined) fields.push(`${JSON.stringify(name)}:${text}`);
    return { ...draft, body: Buffer.from(`{${fields.join(",")}}`) };
  });
}

function pathMutations(subject: Subject, fixture: Fixture): Mutation[] {
  const names = [...subject.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const parameters = names.flatMap((name) =>
    [...hostileTexts, ""].map((text) =>
      mutation(`path ${name} ${text}`, (draft) => ({
        ...draft,
        path: pathOf(subject, (other) => (other === name ? text : idOf(subject, other, fixture))),
      })),
    ),
  );
  const suffixes = ["/", "/x", ";x=1", "%00", "%", "?%", "#x", "/..", "//"];
  const added = suffixes.map((suffix) =>
    mutation(`path with ${suffix}`, (draft) => ({ ...draft, path: draft.path + suffix })),
  );
  const upper = mutation("path in upper case", (draft) => ({ ...draft, path: draft.path.toUpperCase() }));
  return [...parameters, ...added, upper];
}

function queryMutations({ operation }: Subject): Mutation[] {
  const names = (operation.parameters ?? []).filter((one) => one.in === "query").map(({ name }) => name);
  const forms = [
    ...hostileTexts.map((text) => `*=${text}`),
    "*",
    "*=",
    "*=1&*=2",
    "*[]=1",
    "*[x]=1",
    "%00*=1",
  ];
  const values = names.flatMap((name) => forms.map((form) => form.replaceAll("*", name)));
  const always = ["a=%00", "%ED%A0%80=1", "__proto__[x]=1", "=", "&&&", `x=${"y".repeat(5000)}`];
  const many = Array.from({ length: 3000 }, (_, index) => `a${index}`).join("&");
  return [...values, ...always, many].map((query) =>
    mutation(`query ${query}`, (draft) => ({ ...draft, path: `${draft.path}?${query}` })),
  );
}

function headerMutations({ operation, body }: Subject): Mutation[] {
  const own = (operation.parameters ?? []).filter((one) => one.in === "header").map(({ name }) => name);
  const values = [...own, "Authorization", "X-Session-Token"].flatMap((name) =>
    hostileHeaderValues.map((value) =>
      mutation(`header ${name}: ${value}`, (draft) => ({
        ...draft,
        headers: [...draft.headers.filter((line) => !line.startsWith(`${name}:`)), `${name}: ${value}`],
      })),
    ),
  );
  const lines = hostileHeaderLines.map((line) =>
    mutation(`header line ${JSON.stringify(line)}`, (draft) => ({
      ...draft,
      headers: [...draft.headers, line],
    })),
  );
  const types = body === undefined ? hostileContentTypes.slice(0, 3) : hostileContentTypes;
  const contentTypes = types.map((type) =>
    mutation(`content type ${type}`, (draft) => ({
      ...draft,
      headers: [...draft.headers, `Content-Type: ${type}`],
      body: draft.body ?? Buffer.from("{}"),
    })),
  );
  return [...values, ...lines, ...contentTypes];
}

function framingMutations({ body }: Subject): Mutation[] {
  const chunked = ["Content-Type: application/json", "Transfer-Encoding: chunked"];
  const chunks = (body === undefined ? brokenChunks.slice(0, 3) : brokenChunks).map((text) =>
    mutation(`chunks ${JSON.stringify(text)}`, (draft) => ({
      ...draft,
      headers: [...draft.headers, ...chunked],
      rawBody: Buffer.from(text, "latin1"),
      closes: true,
    })),
  );
  return [
    ...chunks,
    mutation("a body cut short", (draft) => ({
      ...draft,
      headers: [...draft.headers, "Content-Type: application/json", "Content-Length: 1000"],
      rawBody: Buffer.from('{"name":'),
      closes: true,
    })),
    mutation("a length beyond the limit and no body", (draft) => ({
      ...draft,
      headers: [...draft.headers, "Content-Type: application/json", `Content-Length: ${2 ** 40}`],
      rawBody: Buffer.alloc(0),
      closes: true,
    })),
    mutation("a second request behind the first", (draft) => ({
      ...draft,
      rawBody: Buffer.concat([
        draft.body ?? Buffer.alloc(0),
        Buffer.from("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
      ]),
      closes: true,
    })),
  ];
}
