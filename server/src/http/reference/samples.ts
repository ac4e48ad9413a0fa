import type { Operation } from "./operations.ts";

/** Code that calls an operation, in one language. */
export interface Sample {
  language: "curl" | "TypeScript" | "Python";
  text: string;
}

/**
 * Calls with the operation's example, ready to run with `POSTRIDER_URL` and the credential in the environment. None for the
 * tools, which MCP clients call.
 */
export function samplesOf(operation: Operation): readonly Sample[] {
  if (operation.operationId === "callTools") return [];
  return [
    { language: "curl", text: curl(operation) },
    { language: "TypeScript", text: operation.inSdk ? sdk(operation) : fetchCall(operation) },
    { language: "Python", text: python(operation) },
  ];
}

/** How the answer of a media type is read. */
const reading: Record<string, { curl: string; ts: string; python: string; option?: string }> = {
  "application/json": {
    curl: "",
    ts: "const answer = await response.json();",
    python: "print(response.json())",
  },
  "text/plain": { curl: "", ts: "const answer = await response.text();", python: "print(response.text)" },
  "text/event-stream": {
    curl: " -N",
    ts: `for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
  console.log(part);
}`,
    python: `for line in response.iter_lines():
    print(line.decode())`,
    option: "stream=True",
  },
};

/** The path with the query parameters that the operation requires. */
function template({ path, parameters }: Operation): string {
  const required = requiredQuery(parameters).map((name) => `${name}={${name}}`);
  return required.length === 0 ? path : `${path}?${required.join("&")}`;
}

function requiredQuery(parameters: Operation["parameters"]): string[] {
  return parameters.filter((one) => one.in === "query" && one.required).map(({ name }) => name);
}

function curl(operation: Operation): string {
  const { method, body, credential, mediaType } = operation;
  const path = template(operation).replaceAll(/\{(\w+)\}/g, (_all, name: string) => `$${name.toUpperCase()}`);
  const verb = method === "GET" ? "" : ` -X ${method}`;
  const lines = [`curl${reading[mediaType]!.curl}${verb} "$POSTRIDER_URL${path}"`];
  if (credential === "key") lines.push('-H "Authorization: Bearer $POSTRIDER_KEY"');
  if (credential === "session") lines.push('-H "X-Session-Token: $POSTRIDER_SESSION"');
  if (body !== undefined) {
    lines.push('-H "Content-Type: application/json"', `-d '${shellJson(body)}'`);
  }
  return lines.join(" \\\n  ");
}

const longestLine = 80;

function shellJson(body: unknown): string {
  const line = JSON.stringify(body);
  const text = line.length > longestLine ? JSON.stringify(body, undefined, 2) : line;
  return text.replaceAll("'", String.raw`'\''`);
}

function sdk({ operationId, pathParameters, parameters, body }: Operation): string {
  const query = requiredQuery(parameters).map(camel);
  const inputs = [
    ...pathParameters.map(camel),
    ...(body === undefined ? [] : [literal(body)]),
    ...(query.length === 0 ? [] : [`{ ${query.join(", ")} }`]),
  ];
  return `import { createClient } from "@postrider/sdk";

const postrider = createClient({
  baseUrl: process.env.POSTRIDER_URL!,
  apiKey: process.env.POSTRIDER_KEY!,
});

const answer = await postrider.${operationId}(${inputs.join(", ")});`;
}

function fetchCall(operation: Operation): string {
  const { method, body, credential, mediaType } = operation;
  const headers = [
    ...(credential === "key" ? ["Authorization: `Bearer ${process.env.POSTRIDER_KEY}`"] : []),
    ...(credential === "session" ? ['"X-Session-Token": process.env.POSTRIDER_SESSION!'] : []),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}"`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(", ")} }`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${literal(body).replaceAll("\n", "\n  ")})`]),
  ];
  const address = `\`\${process.env.POSTRIDER_URL}${template(operation).replaceAll(/\{(\w+)\}/g, (_all, name: string) => `\${${camel(name)}}`)}\``;
  const given = options.length === 0 ? "" : `, {\n  ${options.join(",\n  ")},\n}`;
  return `const response = await fetch(${address}${given});
${reading[mediaType]!.ts}`;
}

function python(operation: Operation): string {
  const { method, body, credential, mediaType } = operation;
  const path = template(operation);
  const read = reading[mediaType]!;
  const inputs = [`os.environ["POSTRIDER_URL"] + ${path.includes("{") ? "f" : ""}"${path}"`];
  if (credential === "key") inputs.push(`headers={"Authorization": f"Bearer {os.environ['POSTRIDER_KEY']}"}`);
  if (credential === "session") inputs.push(`headers={"X-Session-Token": os.environ["POSTRIDER_SESSION"]}`);
  if (body !== undefined) inputs.push(`json=${pythonLiteral(body)}`);
  if (read.option !== undefined) inputs.push(read.option);
  return `import os
import requests

response = requests.${method.toLowerCase()}(
    ${inputs.join(",\n    ")},
)
response.raise_for_status()
${read.python}`;
}

function camel(name: string): string {
  return name.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());
}

/** A value as a TypeScript literal, with names unquoted where possible. */
function literal(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, "$1$2:");
}

const pythonWords: Record<string, string> = { true: "True", false: "False", null: "None" };

function pythonLiteral(value: unknown): string {
  return JSON.stringify(value, undefined, 4)
    .replaceAll(
      /("(?:[^"\\]|\\.)*")|\b(true|false|null)\b/g,
      (_all, text: string | undefined, word: string) => (text === undefined ? pythonWords[word]! : text),
    )
    .replaceAll("\n", "\n    ");
}
