import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseNetworks } from "../../outbound/addressGuard.ts";
import { createOutbound, type Outbound } from "../../outbound/outbound.ts";
import { type Agent, createCredentialMask } from "./agent.ts";
import { agentUrl, callAgent } from "./callAgent.ts";
import { findTask } from "../send/findTask.ts";

let server: Server;
let outbound: Outbound;
let agent: Agent;
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  outbound = createOutbound({ allowHttp: true, networks: parseNetworks(["127.0.0.0/8"]), userAgent: "test" });
  agent = {
    targetId: "t",
    version: 1,
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/a2a/`,
    tenant: null,
    extensions: ["urn:a"],
    pushNotifications: false,
    credential: {
      header: ["authorization", "Bearer s3cret"],
      mask: createCredentialMask("s3cret"),
    },
  };
});

afterAll(() => {
  outbound.close();
  server.close();
  server.closeAllConnections();
});

describe("an agent's routes", () => {
  it.each([
    ["https://a.example", null, "https://a.example/message:send"],
    ["https://a.example/", null, "https://a.example/message:send"],
    ["https://a.example/x/y/", null, "https://a.example/x/y/message:send"],
    ["https://a.example/x?k=1", null, "https://a.example/x/message:send?k=1"],
    ["https://a.example/x", "blue", "https://a.example/x/blue/message:send"],
    ["https://a.example/x", "a/../b c", "https://a.example/x/a%2F..%2Fb%20c/message:send"],
  ])("are below %s for tenant %s", (url, tenant, expected) => {
    expect(agentUrl({ url, tenant }, "/message:send")).toBe(expected);
  });
});

describe("a refusal", () => {
  it("is reported in the agent's words, on one line, without the credential", async () => {
    answer = (_request, response) => {
      response.writeHead(400, { "content-type": "text/plain" });
      response.end(
        JSON.stringify({
          error: {
            message: `bad\n\u0007 s3cret ${"x".repeat(1_000)}`,
            details: [{ "@type": "x" }, { reason: "UNSUPPORTED_OPERATION", domain: "a2a-protocol.org" }],
          },
        }),
      );
    };
    const refused = await call();
    expect(refused).toMatchObject({ kind: "refused", status: 400, reason: "UNSUPPORTED_OPERATION" });
    if (refused.kind !== "refused") return;
    expect(refused.message).toMatch(/^the agent answered 400: bad \[token\] x+…$/);
    expect(refused.message.length).toBeLessThan(310);
    expect(refused.body.toString()).not.toContain("s3cret");
  });

  it("is reported for redirects, which are not followed", async () => {
    answer = (_request, response) =>
      void response.writeHead(307, { location: "https://b.example/?t=s3cret" }).end();
    expect(await call()).toMatchObject({
      kind: "refused",
      message: "the agent answered 307 redirect to https://b.example/?t=[token]; redirects are not followed",
    });
  });
});

describe("an answer", () => {
  it.each([
    ["is nested deeper than 500 levels", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
    ["is nested deeper than 500 levels", `{"a":"[\\"","b":${'{"c":['.repeat(251)}`],
    ["is not JSON", `["${"[".repeat(600)}\\\\"`],
  ])("that %s is garbled", async (problem, text) => {
    answer = (_request, response) => void response.end(text);
    expect(await call()).toMatchObject({ kind: "garbled", problem });
  });

  it("may nest as deeply as tasks do", async () => {
    answer = (_request, response) => void response.end(`${"[".repeat(500)}${"]".repeat(500)}`);
    expect(await call()).toMatchObject({ kind: "answered" });
  });
});

describe("the media type", () => {
  const post = () =>
    callAgent(outbound, agent, {
      method: "POST",
      path: "/message:send",
      body: Buffer.from("{}"),
      timeoutMs: 5_000,
      isRepeatable: false,
    });

  it("is the protocol's; after an agent asked for the older one, later requests use that at once", async () => {
    const seen: (string | undefined)[] = [];
    answer = ({ headers: { "content-type": type } }, response) => {
      seen.push(type);
      if (type === "application/json") response.end('{"message": {"parts": []}}');
      else response.writeHead(415).end();
    };
    for (let count = 0; count < 2; count++) expect(await post()).toMatchObject({ kind: "answered" });
    expect(seen).toEqual(["application/a2a+json", "application/json", "application/json"]);
  });

  it("is a refusal when the agent rejects both media types", async () => {
    agent.url += "other/";
    answer = (_request, response) => void response.writeHead(415).end();
    expect(await post()).toMatchObject({ kind: "refused", status: 415 });
  });
});

async function call() {
  return callAgent(outbound, agent, {
    method: "GET",
    path: "/tasks/1",
    timeoutMs: 5_000,
    isRepeatable: true,
  });
}

describe("looking for a task by its message", () => {
  const search = { messageId: "m", sinceMs: 0, timeoutMs: 5_000 };
  const other = { id: "a", status: { state: "TASK_STATE_WORKING" }, history: [{ messageId: "x" }] };
  const wanted = { ...other, id: "b", history: [{ messageId: "n" }, { messageId: "m" }] };

  function serve(...pages: object[]): void {
    let page = 0;
    answer = (_request, response) => void response.end(JSON.stringify(pages[page++]));
  }

  it("reads all pages", async () => {
    serve({ tasks: [other], nextPageToken: "2" }, { tasks: [wanted], nextPageToken: "" });
    expect(await findTask(outbound, agent, search)).toMatchObject({ kind: "found", view: { taskId: "b" } });
    serve({ tasks: [other], nextPageToken: "2" }, { tasks: [other] });
    expect(await findTask(outbound, agent, search)).toEqual({ kind: "absent" });
    serve({ tasks: [] });
    expect(await findTask(outbound, agent, search)).toEqual({ kind: "absent" });
  });

  it("recognizes a list that cannot show whether the task exists", async () => {
    serve({ tasks: [{ ...wanted, history: undefined }] });
    expect(await findTask(outbound, agent, search)).toMatchObject({ kind: "unknowable" });
    serve({ items: [] });
    expect(await findTask(outbound, agent, search)).toMatchObject({ kind: "unknowable" });
    answer = (_request, response) =>
      void response.end(JSON.stringify({ tasks: [other], nextPageToken: "x" }));
    expect(await findTask(outbound, agent, search)).toMatchObject({ kind: "unknowable" });
  });

  it.each([
    [404, "unknowable"],
    [501, "unknowable"],
    [401, "unavailable"],
    [503, "unavailable"],
  ])("takes %i as %s", async (status, kind) => {
    answer = (_request, response) => void response.writeHead(status).end();
    expect(await findTask(outbound, agent, search)).toMatchObject({ kind });
  });

  it("requests smaller pages when a page is too large", async () => {
    const padded = { ...other, history: [{ messageId: "x", padding: "p".repeat(100_000) }] };
    const sizes: string[] = [];
    answer = (request, response) => {
      const size = new URL(request.url!, "http://a").searchParams.get("pageSize")!;
      sizes.push(size);
      const tasks = size === "50" ? Array.from({ length: 50 }, () => padded) : [padded, wanted];
      response.end(JSON.stringify({ tasks }));
    };
    expect(await findTask(outbound, agent, search)).toMatchObject({ kind: "found" });
    expect(sizes).toEqual(["50", "5"]);
  });
});

it("a credential is masked in JSON in each form that libraries write, also with escaped slashes", () => {
  const mask = createCredentialMask('se/cr"et');
  for (const form of ['se/cr"et', String.raw`se/cr\"et`, String.raw`se\/cr\"et`]) {
    expect(mask.text(`<${form}>`)).toBe("<[token]>");
    expect(mask.bytes(Buffer.from(`<${form}>`)).toString()).toBe("<[token]>");
  }
});
