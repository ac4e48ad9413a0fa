import { describe, expect } from "vitest";
import {
  type Draft,
  type Fixture,
  type Subject,
  subjects,
  toRequest,
  validDraft,
} from "./support/fuzz/drafts.ts";
import { noRequests } from "./support/fuzz/hostile.ts";
import { type Mutation, mutationsOf } from "./support/fuzz/mutations.ts";
import { createRandom } from "./support/fuzz/random.ts";
import { type RawAnswer, type RawRequest, sendRaw } from "./support/fuzz/rawHttp.ts";
import { type Account, createTestNode, signUp, type TestNode } from "./support/testNode.ts";
import { file, nodeTest } from "./support/fixtures.ts";
import { countRows } from "./support/unseenRows.ts";

/** Equal seeds send equal requests; another seed tries other combinations. */
const seed = Number(process.env["FUZZ_SEED"] ?? 20_261_101);
const combinations = Number(process.env["FUZZ_REQUESTS"] ?? 500);
/**
 * Mutations that apply to many operations in the same way, such as a bad header line or a text as an id, are tried
 * on every n-th operation, different mutations on different operations; 1 tries all on every operation.
 */
const sharedEvery = Number(process.env["FUZZ_SHARED_EVERY"] ?? 20);
/** One operationId, to debug a single operation. */
const only = process.env["FUZZ_OPERATION"];
const tried = subjects.filter(({ operationId }) => only === undefined || operationId === only);
const answerLimitMs = 30_000;
const connections = 12;

/** Account of the operations that end its sessions and delete its keys. */
let expendable: Account | undefined;

const it = nodeTest({ POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8" })
  .extend("port", file, ({ url }) => Number(new URL(url).port))
  .extend("ids", file, ({ node, account }) => makeIds(node, account.api_key))
  /** Requests that stop in the middle; their answers are awaited while the others are sent. */
  .extend("unfinished", file, ({ port, ids, account }) => {
    const answers = Promise.all(
      unfinishedRequests(ids["targets"]!, account.api_key).map((text) =>
        sendRaw(port, { pieces: [Buffer.from(text)] }, 60_000),
      ),
    );
    answers.catch(() => undefined);
    return { answers };
  })
  .extend("fixtureFor", file, ({ account, ids }) => ({ operationId }: Subject): Fixture => {
    const { api_key: key, session_token: session } = destructive.includes(operationId)
      ? expendable!
      : account;
    return { key, session, ids };
  })
  .extend(
    "judge",
    file,
    ({ port }) =>
      async (
        request: RawRequest,
        options: { toPort?: number; mayClose?: boolean } = {},
      ): Promise<string | undefined> => {
        try {
          const answer = await sendRaw(options.toPort ?? port, request, answerLimitMs);
          if (options.mayClose === true && answer.status === 0) return undefined;
          return complaintAbout(answer);
        } catch (error) {
          return (error as Error).message;
        }
      },
  )
  .extend("renewExpendable", file, ({ node }) => async (): Promise<void> => {
    const { session_token: session, user, password } = expendable!;
    const { status } = await node.call("GET", "/api/v1/auth/me", { session });
    if (status === 200) return;
    const login = await node.call("POST", "/api/v1/auth/login", { body: { email: user.email, password } });
    expendable = { ...expendable!, session_token: login.body.session_token };
  })
  /** Sends the cases over a few connections at a time; returns the problems found, at most twenty. */
  .extend(
    "run",
    file,
    ({ port, fixtureFor, judge, renewExpendable }) =>
      async (cases: readonly FuzzCase[], toPort = port): Promise<string[]> => {
        const complaints: string[] = [];
        let next = 0;
        const work = async (): Promise<void> => {
          while (next < cases.length && complaints.length < 20) {
            const { subject, mutations } = cases[next++]!;
            const draft = mutations.reduce<Draft>(
              (broken, { apply }) => apply(broken),
              validDraft(subject, fixtureFor(subject)),
            );
            const what = `${subject.operationId}: ${mutations.map((one) => one.what).join(" + ")}`;
            const complaint = await judge(toRequest(draft), { toPort, mayClose: mayClose(draft) });
            if (complaint !== undefined) complaints.push(`${what}: ${complaint}`);
            if (destructive.includes(subject.operationId)) await renewExpendable();
          }
        };
        await Promise.all(Array.from({ length: connections }, work));
        return complaints;
      },
  );

it.beforeAll(async ({ node, unfinished: _begun }) => {
  expendable = await signUp(node);
});

function unfinishedRequests(targetId: string, key: string): string[] {
  const head = `POST /t/${targetId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  return [
    head,
    `${head}Content-Length: 100\r\n\r\n{"half":`,
    `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a"`,
  ];
}

async function makeIds(on: TestNode, key: string): Promise<Fixture["ids"]> {
  const make = async (path: string, body: object): Promise<string> =>
    (await on.call("POST", path, { key, body })).body.id;
  const webhook = await make("/api/v1/targets", { kind: "webhook", name: "w", url: "https://127.0.0.1:9/" });
  const mailbox = await make("/api/v1/targets", { kind: "mailbox", name: "m" });
  return {
    targets: webhook,
    endpoints: webhook,
    target_id: webhook,
    endpoint_id: webhook,
    mailbox_id: mailbox,
    message_id: await make(`/t/${mailbox}`, { any: "thing" }),
    events: await make(`/t/${webhook}`, { any: "thing" }),
    replays: await make("/api/v1/replays", { filter: { target_id: webhook } }),
  };
}

/** Operations that end the credential of the request. */
const destructive = ["logOut", "logOutAll", "deleteKey"];

interface FuzzCase {
  subject: Subject;
  mutations: readonly Mutation[];
}

/** Node closes a connection that requests an upgrade and continues with bytes that are not HTTP. */
function mayClose({ headers, rawBody }: Draft): boolean {
  return rawBody !== undefined && headers.some((line) => line.startsWith("Upgrade:"));
}

/** Intended answers of 503: live billing is off, or many people sign in simultaneously. */
const expected503 = ["live billing is disabled", "too many people are signing in: try again"];

/** An unsupported transfer coding, and another version of HTTP. */
const ofTheProtocol = [501, 505];

function isJsonRpcError(body: string): boolean {
  return /^\{"jsonrpc":"2\.0","error":\{"code":-\d+,"message":"[^"\\]{1,300}"\},"id":(?:null|\d+|"[^"\\]*")\}$/.test(
    body,
  );
}

function complaintAbout({ status, headers, body }: RawAnswer): string | undefined {
  if (status === 0) return "the connection closed without an answer";
  if (headers["x-content-type-options"] !== "nosniff") return `${status} without nosniff`;
  if (status < 400) return undefined;
  if (headers["x-request-id"] === undefined) return `${status} without X-Request-Id: ${body}`;
  if (body === "") return headers["content-length"] === "0" ? `${status} without a body` : undefined;
  // MCP's own refusals are JSON-RPC errors with messages of another form.
  if (isJsonRpcError(body)) return undefined;
  const message = errorMessage(body);
  if (message === undefined) return `${status} with a body other than {"error": string}: ${body}`;
  const isExpected = status === 503 ? expected503.includes(message) : ofTheProtocol.includes(status);
  if (status >= 500 && !isExpected) return `${status} ${message}`;
  if (message.length > 300) return `${status} with a message of ${message.length} characters`;
  const ofTheService = message
    .replace(/\b\w+ is not a JSON value/, "")
    .replace(/\bno (?:customer|event type) [\w.:/-]+/, "");
  const leak = internals.exec(ofTheService);
  return leak === null ? undefined : `${status} tells of internals ("${leak[0]}"): ${message}`;
}

function errorMessage(body: string): string | undefined {
  try {
    const parsed = JSON.parse(body) as Record<string, unknown>;
    const isError = Object.keys(parsed).join() === "error" && typeof parsed["error"] === "string";
    return isError ? (parsed["error"] as string) : undefined;
  } catch {
    return undefined;
  }
}

/** Words that only internal components would use. */
const internals = new RegExp(
  [
    String.raw`(?:[A-Z]\w*Error|E(?:CONN|NOENT|PIPE|ACCES|ADDR|TIMEDOUT|HOST|BADF)|FST_|HPE_)`,
    String.raw`(?:/home/|/src/|node_modules|file:|\.[jt]s\b|\bat \S+ \()`,
    String.raw`\b(?:[Uu]uid|bytea|relation|violates|constraint|encoding|[Pp]ostgres|pg|SQL|[Ss]yntax|[Ss]tack)\b`,
    String.raw`\b(?:ajv|[Ss]chema|[Ff]astify|undefined|NaN|prototype|function|regular expression|pattern)\b`,
    String.raw`\[object|\b(?:select|insert into|update|delete from) `,
  ].join("|"),
);

describe(`malformed requests (seed ${seed})`, () => {
  it("of every operation, mutated in every way, get an error without internal details", async ({
    fixtureFor,
    run,
  }) => {
    const all = tried.map((subject) => ({ subject, ways: mutationsOf(subject, fixtureFor(subject)) }));
    const counts = new Map<string, number>();
    for (const { what } of all.flatMap(({ ways }) => ways)) counts.set(what, (counts.get(what) ?? 0) + 1);
    const isShared = ({ what }: Mutation): boolean => counts.get(what)! > tried.length / 4;
    // Each mutation starts with a different operation.
    const met = new Map([...counts.keys()].map((what, index) => [what, index]));
    const isTried = ({ what }: Mutation): boolean => {
      const times = met.get(what)!;
      met.set(what, times + 1);
      return times % sharedEvery === 0;
    };
    const cases = all.flatMap(({ subject, ways }) =>
      ways.filter((way) => !isShared(way) || isTried(way)).map((way) => ({ subject, mutations: [way] })),
    );
    // Each mutation at least once, and each operation with many mutations.
    expect(new Set(cases.map(({ mutations: [way] }) => way!.what)).size).toBe(counts.size);
    expect(cases.length).toBeGreaterThan((100 * tried.length) / sharedEvery);
    expect(await run(cases)).toEqual([]);
  }, 240_000);

  it("with several mutations at once get such an error, too", async ({ fixtureFor, run }) => {
    const random = createRandom(seed);
    const all = tried.map((subject) => ({
      subject,
      mutations: mutationsOf(subject, fixtureFor(subject)),
    }));
    const cases = Array.from({ length: combinations }, () => {
      const { subject, mutations } = random.pick(all);
      const count = 2 + random.integer(3);
      return { subject, mutations: Array.from({ length: count }, () => random.pick(mutations)) };
    });
    expect(await run(cases)).toEqual([]);
  }, 240_000);

  it.for(noRequests.map((bytes) => [JSON.stringify(bytes.toString("latin1").slice(0, 60)), bytes] as const))(
    "that are not requests at all get such an error: %s",
    async ([_what, bytes], { judge }) => {
      expect(await judge({ pieces: [bytes], closes: true })).toBeUndefined();
    },
  );

  it("leave the service serving", async ({ node }) => {
    expect((await node.call("GET", "/readyz")).status).toBe(200);
    const fresh = await signUp(node);
    const made = await makeIds(node, fresh.api_key);
    const read = await node.call("GET", `/api/v1/events/${made["events"]}`, { key: fresh.api_key });
    expect(read).toMatchObject({ status: 200, body: { event: { id: made["events"], is_replay: 0 } } });
  });
});

describe("the payment processor's webhook with live billing", () => {
  it("refuses mutated requests of every kind, and stores nothing", async ({ database, fixtureFor, run }) => {
    const live = createTestNode(database, {
      POSTRIDER_BILLING: "stripe",
      POSTRIDER_ROLES: "api",
      STRIPE_SECRET_KEY: "sk_test_1",
      STRIPE_WEBHOOK_SECRET: "whsec_test",
      STRIPE_PRICE_ID: "price_1",
      STRIPE_METER_EVENT_NAME: "items",
      STRIPE_METER_ID: "mtr_1",
      STRIPE_API_BASE: "http://127.0.0.1:1",
    });
    const livePort = Number(new URL(await live.listen()).port);
    const subject = subjects.find(({ operationId }) => operationId === "receiveBillingEvent")!;
    const cases = mutationsOf(subject, fixtureFor(subject)).map((mutation) => ({
      subject,
      mutations: [mutation],
    }));
    expect(await run(cases, livePort)).toEqual([]);
    expect(await countRows(live.pool, "billing_events")).toBe(0);
    await live.stop();
  });
});

describe("the check of the answers", () => {
  const headers = { "x-request-id": "1", "content-length": "9", "x-content-type-options": "nosniff" };
  const about = (status: number, body: string): string | undefined =>
    complaintAbout({ status, headers, body });

  it.each([
    [500, '{"error":"internal error"}'],
    [503, '{"error":"the service cannot reach its database: try again"}'],
    [400, '{"error":"invalid input syntax for type uuid"}'],
    [400, '{"error":"invalid byte sequence for encoding \\"UTF8\\": 0x00"}'],
    [400, '{"error":"body/name must match pattern"}'],
    [404, '{"error":"ENOENT: no such file, open /home/x"}'],
    [400, '{"error":"Cannot read properties of undefined"}'],
    [400, '{"statusCode":400,"error":"Bad Request","message":"x"}'],
    [400, "<html>Bad Request</html>"],
    [400, `{"error":"${"x".repeat(400)}"}`],
    [0, ""],
  ])("rejects %i %s", (status, body) => {
    expect(about(status, body)).toBeDefined();
  });

  it.each([
    [400, '{"error":"name must be a string"}'],
    [404, '{"error":"not found"}'],
    [503, '{"error":"live billing is disabled"}'],
    [200, "{}"],
  ])("accepts %i %s", (status, body) => {
    expect(about(status, body)).toBeUndefined();
  });
});

describe("slow clients", () => {
  it("get their answer when they finish, and do not delay others", async ({ fixtureFor, port, node }) => {
    const subject = subjects.find(({ operationId }) => operationId === "renameOrganization")!;
    const [whole] = toRequest(validDraft(subject, fixtureFor(subject))).pieces;
    const pieces = Array.from(whole!, (byte) => Buffer.from([byte]));
    const slow = Array.from({ length: 20 }, () => sendRaw(port, { pieces, pauseMs: 5 }, answerLimitMs));
    let finished = 0;
    for (const one of slow) void one.then(() => finished++);
    expect((await node.call("GET", "/readyz")).status).toBe(200);
    expect(finished).toBe(0);
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  });

  it("are disconnected at the time limit when they never finish", async ({ unfinished }) => {
    for (const { status, body } of await unfinished.answers) {
      expect({ status, body }).toEqual({
        status: 408,
        body: '{"error":"the request took too long to arrive"}',
      });
    }
  });
});
