import { Registry } from "prom-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { type MailServerOptions, startMailServer } from "../../test/support/mailServer.ts";
import { startRawReceiver } from "../../test/support/rawReceiver.ts";
import { until } from "../../test/support/until.ts";
import { loadConfig } from "../config/config.ts";
import { QueueFullError } from "../runtime/groupCommit.ts";
import { registerMailMetric } from "../telemetry/processMetrics.ts";
import { createMailer } from "./mailer.ts";
import type { Mail } from "./sendBySmtp.ts";

const mail: Mail = { to: "ada@example.com", subject: "Hello", text: "text-of-a-mail", html: "<p>text</p>" };
const usual = { concurrency: 2, maxWaiting: 3, sendLimitMs: 10_000, stopLimitMs: 10_000 };

/** A mailer for the server at an address, with its log lines and its counter. */
function mailerAt(smtpUrl: string, limits: Partial<typeof usual> = {}) {
  const registry = new Registry();
  const lines: object[] = [];
  const log = (fields: object, message: string): void => void lines.push({ ...fields, message });
  const config = loadConfig({
    POSTRIDER_SMTP_URL: smtpUrl,
    POSTRIDER_MAIL_FROM: "postrider@example.com",
    POSTRIDER_PUBLIC_URL: "https://postrider.example.com",
  }).mail!;
  const mailer = createMailer({
    config,
    log: { warn: log, error: log },
    count: registerMailMetric(registry),
    limits: { ...usual, ...limits },
  });
  onTestFinished(() => mailer.stop());
  const counts = async (): Promise<unknown> => {
    const { values } = await registry.getSingleMetric("postrider_mails_total")!.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels["outcome"], value]));
  };
  const send = (): void => mailer.enqueue(() => Promise.resolve(mail));
  return { mailer, lines, counts, send };
}

async function serverFor(options: MailServerOptions) {
  const server = await startMailServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** A server that accepts connections and sends nothing. */
async function silentServer() {
  const server = await startRawReceiver(() => undefined);
  onTestFinished(() => server.stop());
  return server;
}

describe("a burst of mails", () => {
  test("waits in a bounded queue, is sent a few at a time, and is refused beyond the bound", async () => {
    const server = await serverFor({});
    const { mailer, send, counts } = mailerAt(`smtp://127.0.0.1:${server.port}?tls=off`);
    const begun: (() => void)[] = [];
    for (let index = 0; index < 5; index++) {
      mailer.enqueue(() => new Promise((resolve) => begun.push(() => resolve(mail))));
    }
    expect(send).toThrow(QueueFullError);
    // Each mail that is sent lets the next one begin.
    for (let index = 0; index < 5; index++) {
      await until(
        () => begun.length,
        (length) => length > 0,
      );
      expect(begun.length).toBeLessThanOrEqual(2);
      begun.shift()!();
    }
    await until(counts, (count) => JSON.stringify(count) === '{"sent":5,"failed":0}');
    expect(server.mails).toHaveLength(5);
  });
});

describe("a process that stops", () => {
  test("sends the waiting mails", async () => {
    const server = await serverFor({});
    const { mailer, send } = mailerAt(`smtp://127.0.0.1:${server.port}?tls=off`, { concurrency: 1 });
    for (let index = 0; index < 3; index++) send();
    await mailer.stop();
    expect(server.mails).toHaveLength(3);
  });

  test("does not wait for a server that does not answer", async () => {
    const server = await silentServer();
    const { mailer, send, counts, lines } = mailerAt(`smtp://127.0.0.1:${server.port}?tls=off`, {
      concurrency: 1,
      stopLimitMs: 50,
    });
    for (let index = 0; index < 3; index++) send();
    await mailer.stop();
    expect(await counts()).toEqual({ sent: 0, failed: 3 });
    expect(lines).toEqual([
      { mails: 2, message: "mails were not sent before the process ended" },
      { code: "EABORT", message: "a mail could not be sent" },
    ]);
  });
});

describe("a mail that cannot be sent", () => {
  const failures: [
    what: string,
    server: () => Promise<{ port: number }>,
    url: (port: number) => string,
    line: object,
    limits?: Partial<typeof usual>,
  ][] = [
    [
      "because nobody listens",
      async () => {
        const server = await startMailServer();
        await server.stop();
        return server;
      },
      (port) => `smtp://127.0.0.1:${port}?tls=off`,
      { code: "ESOCKET", smtp_command: "CONN", reason: expect.stringContaining("ECONNREFUSED") },
    ],
    [
      "because the server says nothing in time",
      silentServer,
      (port) => `smtp://127.0.0.1:${port}?tls=off`,
      { code: "EABORT" },
      { sendLimitMs: 1_000 },
    ],
    [
      "because the certificate is unknown",
      () => serverFor({ encryption: "tls" }),
      (port) => `smtps://localhost:${port}`,
      { code: "ESOCKET", smtp_command: "CONN", reason: expect.stringMatching(/self.signed/) },
    ],
    [
      "because the certificate is unknown behind STARTTLS",
      () => serverFor({ encryption: "starttls" }),
      (port) => `smtp://localhost:${port}`,
      { code: "ESOCKET", smtp_command: "CONN", reason: expect.stringMatching(/self.signed/) },
    ],
    [
      "because the server knows no STARTTLS",
      () => serverFor({ encryption: "off", login: { user: "ada", password: "pass-word" } }),
      (port) => `smtp://ada:pass-word@localhost:${port}`,
      { code: "ETLS", smtp_command: "STARTTLS", smtp_status: 500 },
    ],
    [
      "because the server refuses it, and repeats it in its answer",
      () => serverFor({ refuses: true }),
      (port) => `smtp://127.0.0.1:${port}?tls=off`,
      { code: "EMESSAGE", smtp_command: "DATA", smtp_status: 554 },
    ],
  ];

  test.each(failures)(
    "%s, is counted and logged without address and text",
    async (...[_what, start, url, line, limits = {}]) => {
      const { port } = await start();
      const { send, counts, lines } = mailerAt(url(port), limits);
      send();
      await until(counts, (count) => JSON.stringify(count) === '{"sent":0,"failed":1}');
      expect(lines).toEqual([{ ...line, message: "a mail could not be sent" }]);
      const said = JSON.stringify(lines);
      for (const secret of ["ada@example.com", "text-of-a-mail", "pass-word"])
        expect(said).not.toContain(secret);
    },
  );

  test("because it could not be prepared, is counted and logged", async () => {
    const { mailer, counts, lines } = mailerAt("smtp://127.0.0.1:9?tls=off");
    mailer.enqueue(() => Promise.reject(new Error("the database is away")));
    await until(counts, (count) => JSON.stringify(count) === '{"sent":0,"failed":1}');
    expect(lines).toEqual([
      { err: new Error("the database is away"), message: "a mail could not be prepared" },
    ]);
  });

  test("does not keep the next one from being sent, nor does a mail without a recipient", async () => {
    const server = await serverFor({});
    const { mailer, send, counts } = mailerAt(`smtp://127.0.0.1:${server.port}?tls=off`, { concurrency: 1 });
    mailer.enqueue(() => Promise.reject(new Error("the database is away")));
    mailer.enqueue(() => Promise.resolve(undefined));
    send();
    await until(counts, (count) => JSON.stringify(count) === '{"sent":1,"failed":1}');
    expect(server.mails).toHaveLength(1);
  });
});
