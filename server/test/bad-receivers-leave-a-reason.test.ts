import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { describe, expect } from "vitest";
import { until } from "./support/until.ts";
import { createWebhookTarget, type EventView, readEvent, sendItem } from "./support/items.ts";
import { type RawReceiver, startRawReceiver } from "./support/rawReceiver.ts";
import { startReceiver } from "./support/receiver.ts";
import { startService, type ServiceProcess } from "./support/serviceProcess.ts";
import { file, serviceTest } from "./support/fixtures.ts";

const megabyte = 1024 * 1024;
/** Longer than an answering receiver needs on a busy machine, beside receivers that send 100 MB. */
const env = { POSTRIDER_DELIVERY_TIMEOUT_MS: "5000" };
const receivers: RawReceiver[] = [];

const it = serviceTest(env)
  /** Sends one item to a target with this URL and a single attempt; returns what is recorded of it. */
  .extend(
    "deliverTo",
    file,
    ({ service, account }) =>
      async (url: string, through: ServiceProcess = service): Promise<EventView> => {
        const target = await createWebhookTarget(service, account, url, { max_retries: 0 });
        const id = await sendItem(through, account, target.id);
        let view: EventView | undefined;
        await until(async () => {
          view = await readEvent(service, account, id);
          return view.event.status === "FAILED" || view.event.status === "DELIVERED";
        });
        return view!;
      },
  )
  .extend(
    "expectFailed",
    file,
    ({ deliverTo }) =>
      async (url: string, statusCode: number, error: string): Promise<EventView> => {
        const view = await deliverTo(url);
        expect(view.event.status).toBe("FAILED");
        expect(view.delivery_attempts).toHaveLength(1);
        const [attempt] = view.delivery_attempts;
        expect(attempt).toMatchObject({
          status_code: statusCode,
          error: expect.stringContaining(error),
        });
        return view;
      },
  )
  /** A node of the same service that may not send to any internal network. */
  .extend("strictService", file, ({ newService }) => newService({ POSTRIDER_ALLOWED_NETWORKS: "" }));

it.afterAll(async () => {
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});

async function receiverThat(answer: (socket: Socket) => void): Promise<RawReceiver> {
  const receiver = await startRawReceiver(answer);
  receivers.push(receiver);
  return receiver;
}

function head(status: string, ...lines: string[]): string {
  return [`HTTP/1.1 ${status}`, ...lines, "\r\n"].join("\r\n");
}

/** Writes `chunk` repeatedly until `bytes` are sent or the peer disconnects. */
function pour(socket: Socket, bytes: number): void {
  const chunk = Buffer.alloc(64 * 1024, "x");
  let left = bytes;
  const write = (): void => {
    while (left > 0 && socket.writable) {
      left -= chunk.length;
      if (!socket.write(chunk)) return;
    }
  };
  socket.on("drain", write);
  write();
}

describe.concurrent("a receiver that does not answer", () => {
  it("refuses the connection", async ({ expectFailed }) => {
    const receiver = await startRawReceiver(() => undefined);
    await receiver.stop();
    await expectFailed(receiver.url, 0, "connection refused");
  });

  it("hangs", async ({ expectFailed }) => {
    const { url } = await receiverThat(() => undefined);
    await expectFailed(url, 0, "no answer within 5 s");
  });

  it("resets the connection", async ({ expectFailed }) => {
    const { url } = await receiverThat((socket) => socket.resetAndDestroy());
    await expectFailed(url, 0, "the connection was closed without an answer");
  });

  it("closes the connection", async ({ expectFailed }) => {
    const { url } = await receiverThat((socket) => socket.end());
    await expectFailed(url, 0, "the connection was closed without an answer");
  });

  it("has a host name without an address", async ({ expectFailed }) => {
    await expectFailed("http://nobody.invalid/hook", 0, "the host name nobody.invalid");
  });

  it("does not speak TLS at an https URL", async ({ expectFailed }) => {
    const plain = await startReceiver();
    await expectFailed(`https://127.0.0.1:${plain.port}/hook`, 0, "the port does not speak TLS");
    await plain.stop();
  });
});

describe.concurrent("a receiver that answers too slowly", () => {
  it("sends its headers one byte a second", async ({ expectFailed }) => {
    const { url } = await receiverThat((socket) => {
      let sent = 0;
      const drip = setInterval(() => socket.write("HTTP/1.1 200 OK"[sent++ % 15]!), 1_000);
      socket.on("close", () => clearInterval(drip));
    });
    await expectFailed(url, 0, "no answer within 5 s");
  });

  it("sends its body one byte a second", async ({ expectFailed }) => {
    const { url } = await receiverThat((socket) => {
      socket.write(head("200 OK", "content-length: 1000"));
      const drip = setInterval(() => socket.write("x"), 1_000);
      socket.on("close", () => clearInterval(drip));
    });
    await expectFailed(url, 0, "the answer (200) did not end within 5 s");
  });

  it("stops in the middle of its body", async ({ expectFailed }) => {
    const { url } = await receiverThat((socket) =>
      socket.end(`${head("200 OK", "content-length: 1000")}half`),
    );
    await expectFailed(url, 0, "the connection was closed in the middle of the answer");
  });
});

describe.concurrent("a receiver that answers too much", () => {
  it("sends 100 MB with a 200: delivered, and the rest is not read", async ({ deliverTo }) => {
    let socket: Socket | undefined;
    const { url } = await receiverThat((one) => {
      socket = one;
      one.write(head("200 OK", `content-length: ${100 * megabyte}`));
      pour(one, 100 * megabyte);
    });
    const view = await deliverTo(url);
    expect(view.event.status).toBe("DELIVERED");
    expect(view.delivery_attempts).toMatchObject([{ status_code: 200, error: null }]);
    expect(socket!.bytesWritten).toBeLessThan(20 * megabyte);
  });

  it("sends 100 MB with a 500", async ({ expectFailed }) => {
    const { url } = await receiverThat((socket) => {
      socket.write(head("500 Internal Server Error", "transfer-encoding: chunked"));
      socket.write(`${(100 * megabyte).toString(16)}\r\n`);
      pour(socket, 100 * megabyte);
    });
    await expectFailed(url, 500, "receiver answered 500");
  });

  it("sends endless headers", async ({ expectFailed }) => {
    const { url } = await receiverThat((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      pour(socket, 100 * megabyte);
    });
    await expectFailed(url, 0, "the headers of the answer are too large");
  });
});

describe.concurrent("a receiver that answers unexpectedly", () => {
  it("redirects: the redirect is not followed", async ({ expectFailed }) => {
    const elsewhere = await receiverThat((socket) => socket.end(head("200 OK", "content-length: 0")));
    const { url } = await receiverThat((socket) =>
      socket.end(head("307 Temporary Redirect", `location: ${elsewhere.url}`, "content-length: 0")),
    );
    await expectFailed(
      url,
      307,
      `receiver answered 307 redirect to ${elsewhere.url}; redirects are not followed`,
    );
    expect(elsewhere.connections).toBe(0);
  });

  it("sends bytes that are not HTTP", async ({ expectFailed }) => {
    const { url } = await receiverThat((socket) => socket.end(randomBytes(4096)));
    await expectFailed(url, 0, "the answer is not valid HTTP");
  });

  it.for([
    ["a greeting of another protocol", "SSH-2.0-OpenSSH_9.6\r\n", 'HTTP: it does not begin with "HTTP/"'],
    ["HTTP/2", "HTTP/2 200 OK\r\n\r\n", "HTTP: its version is not one of HTTP/1"],
    ["a status that is none", "HTTP/1.1 yes OK\r\n\r\n", "HTTP: its status is not a number of three digits"],
    ["a status below 100", head("099 OK", "content-length: 0"), "HTTP: its status is below 100"],
    ["a header without a colon", head("200 OK", "no colon"), "HTTP: one of its headers is malformed"],
    [
      "a length that is none",
      head("200 OK", "content-length: many"),
      "HTTP: its Content-Length is not a number",
    ],
    [
      "two lengths",
      `${head("200 OK", "content-length: 1", "content-length: 2")}ab`,
      "HTTP: its Content-Length contra",
    ],
    ["a length without end", `${head("200 OK", `content-length: ${"9".repeat(30)}`)}a`, "or is too large"],
    [
      "a length beside chunks",
      `${head("200 OK", "content-length: 3", "transfer-encoding: chunked")}0\r\n\r\n`,
      "HTTP: its Content-Length contradicts another header",
    ],
    [
      "chunks that are none",
      `${head("200 OK", "transfer-encoding: chunked")}zz\r\n`,
      "HTTP: its chunks are malformed",
    ],
    ["lines without CR", "HTTP/1.1 200 OK\ncontent-length: 0\n\n", "HTTP: its lines do not end with CR LF"],
    [
      "TLS",
      Buffer.from([0x15, 3, 3, 0, 2, 2, 70]),
      "the port speaks TLS: the URL has to begin with https://",
    ],
    [
      "another protocol from now on",
      head("101 Switching Protocols", "connection: upgrade", "upgrade: websocket"),
      "the answer switches to another protocol, which the request did not ask for",
    ],
    [
      "100 before its answer",
      `${head("100 Continue")}${head("200 OK", "content-length: 0")}`,
      "the answer begins with 100 Continue, which the request did not ask for",
    ],
    ["half of its headers", "HTTP/1.1 200 OK\r\ncont", "closed in the middle of the answer's headers"],
  ] as const)("sends %s", async ([_what, bytes, error], { expectFailed }) => {
    const { url } = await receiverThat((socket) => socket.end(bytes));
    await expectFailed(url, 0, error);
  });

  it.for([400, 401, 404, 409, 500, 501, 503])("answers %i", async (status, { expectFailed }) => {
    const { url } = await receiverThat((socket) => socket.end(head(`${status} No`, "content-length: 0")));
    await expectFailed(url, status, `receiver answered ${status}`);
  });

  it("answers bytes that are not text: the record stays readable, and keeps at most 1 KiB of them", async ({
    expectFailed,
  }) => {
    const body = Buffer.concat([Buffer.from([0, 0xff, 0xfe, 0x22]), Buffer.alloc(5_000, 0x80)]);
    const { url } = await receiverThat((socket) =>
      socket.end(Buffer.concat([Buffer.from(head("500 No", `content-length: ${body.length}`)), body])),
    );
    const { delivery_attempts: attempts } = await expectFailed(url, 500, "receiver answered 500");
    const { response_body: kept } = attempts[0] as unknown as { response_body: string };
    expect(kept).toHaveLength(1024);
    expect(kept.startsWith("\0")).toBe(true);
  });
});

/** The message is the same for all such addresses, so that it reveals nothing about the internal network. */
const inside = "points to an address that is not allowed";

describe("an internal address", () => {
  it.for([
    ["http://127.0.0.1:9/hook", inside],
    ["http://[::1]:9/hook", inside],
    ["http://localhost:9/hook", inside],
    ["http://2130706433/hook", inside],
    ["http://[::ffff:127.0.0.1]/hook", inside],
    ["http://10.0.0.1/hook", inside],
    ["http://192.168.1.1/hook", inside],
    ["http://172.16.0.1/hook", inside],
    ["http://169.254.169.254/latest/meta-data", inside],
    ["http://169.254.1.1/hook", inside],
    ["http://0.0.0.0/hook", inside],
    ["ftp://example.com/hook", "url must use https"],
    ["http://user:secret@example.com/hook", "user name or password"],
    ["not a url", "url must be an absolute URL"],
  ] as const)(
    "%s is refused at creation and by PATCH, naming the field",
    async ([url, why], { strictService, account }) => {
      const { key, body } = { key: account.api_key, body: { kind: "webhook", name: "inside", url } };
      const created = await strictService.call("POST", "/api/v1/targets", { key, body });
      expect(created).toMatchObject({ status: 400, body: { error: expect.stringMatching(/^url /) } });
      expect(created.body.error).toContain(why);
      const fine = { ...body, url: "https://192.0.2.1.example.invalid/hook" };
      const target = await strictService.call("POST", "/api/v1/targets", { key, body: fine });
      const patched = await strictService.call("PATCH", `/api/v1/targets/${target.body.id}`, {
        key,
        body: { url },
      });
      expect(patched).toMatchObject({ status: 400, body: { error: created.body.error } });
    },
  );

  it("plain HTTP is refused unless the operator allows it", async ({ database, account }) => {
    const httpsOnly = await startService({
      storage: { databaseUrl: database.url },
      env: { ...env, POSTRIDER_ALLOW_HTTP_TARGETS: "false" },
    });
    const answer = await httpsOnly.call("POST", "/api/v1/targets", {
      key: account.api_key,
      body: { kind: "webhook", name: "plain", url: "http://example.com/hook" },
    });
    await httpsOnly.stop();
    expect(answer).toMatchObject({
      status: 400,
      body: { error: "url must use https: http needs POSTRIDER_ALLOW_HTTP_TARGETS=true" },
    });
  });

  it("is checked again at every connection: a target whose host resolves to an internal address is sent nothing", async ({
    deliverTo,
    strictService,
  }) => {
    const receiver = await receiverThat((socket) => socket.end(head("200 OK", "content-length: 0")));
    const byName = `http://localhost:${receiver.port}/hook`;
    for (const url of [receiver.url, byName]) {
      const { event, delivery_attempts: attempts } = await deliverTo(url, strictService);
      expect(event.status).toBe("FAILED");
      expect(attempts).toMatchObject([{ status_code: 0, error: expect.stringContaining(inside) }]);
    }
    expect(receiver.connections).toBe(0);
  });
});
