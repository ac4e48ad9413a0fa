import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished } from "vitest";
import { stageTest } from "./support/fixtures.ts";
import { mailCertificate, type MailServerOptions, startMailServer, tokenOf } from "./support/mailServer.ts";
import type { ServiceProcess } from "./support/serviceProcess.ts";
import { signUp } from "./support/testNode.ts";
import { until } from "./support/until.ts";

const login = { user: "post@example.com", password: "pass/word%of:the@server" };

/** Settings with which a service sends mails to a server whose certificate it trusts. */
function settingsFor({ encryption }: MailServerOptions, port: number, password = login.password) {
  const credentials = `${encodeURIComponent(login.user)}:${encodeURIComponent(password)}`;
  return {
    POSTRIDER_SMTP_URL: `${encryption === "tls" ? "smtps" : "smtp"}://${credentials}@localhost:${port}`,
    POSTRIDER_MAIL_FROM: "postrider@example.com",
    POSTRIDER_PUBLIC_URL: "https://postrider.example.com",
    NODE_EXTRA_CA_CERTS: fileURLToPath(mailCertificate),
    LOG_LEVEL: "trace",
    POSTRIDER_LOG_REQUESTS: "true",
  };
}

async function serverFor(options: MailServerOptions) {
  const server = await startMailServer({ login, ...options });
  onTestFinished(() => server.stop());
  return server;
}

const ask = (service: ServiceProcess, email: string) =>
  service.call("POST", "/api/v1/auth/password-reset", { body: { email } });

describe("a service with the password of a mail server", () => {
  stageTest.for(["tls", "starttls"] as const)(
    "sends its mails only over %s",
    async (encryption, { start }) => {
      const server = await serverFor({ encryption });
      const service = await start(settingsFor({ encryption }, server.port));
      const account = await signUp(service);
      await ask(service, account.user.email);
      const [mail] = await until(
        () => server.mails,
        (mails) => mails.length > 0,
      );
      expect(mail).toMatchObject({ to: [account.user.email], isEncrypted: true, user: login.user });
      const token = tokenOf(mail!);
      const done = await service.call("POST", "/api/v1/auth/password-reset/confirm", {
        body: { token, password: "a new horse with staples" },
      });
      expect(done.status).toBe(200);
      expect(await service.stop()).toBe(0);
      // Requests are logged by route.
      expect(service.output()).toContain("/api/v1/auth/password-reset/confirm");
      for (const secret of [token.slice("rst_".length), account.user.email, login.password]) {
        expect(service.output()).not.toContain(secret);
      }
    },
  );

  stageTest(
    "reports in its log and metrics that the password is wrong, without the password",
    async ({ start }) => {
      const server = await serverFor({ encryption: "tls" });
      const service = await start(settingsFor({ encryption: "tls" }, server.port, "the-wrong-one"));
      const account = await signUp(service);
      await ask(service, account.user.email);
      const metrics = await until(
        async () => (await fetch(`${service.url}/metrics`)).text(),
        (text) => text.includes('postrider_mails_total{outcome="failed"} 1'),
      );
      expect(metrics).toContain('postrider_mails_total{outcome="sent"} 0');
      const said = await until(
        () => service.output(),
        (text) => text.includes("a mail could not be sent"),
      );
      expect(said).toContain('"code":"EAUTH","smtp_command":"AUTH PLAIN","smtp_status":535');
      for (const secret of ["the-wrong-one", login.user, account.user.email])
        expect(said).not.toContain(secret);
      expect(server.mails).toEqual([]);
    },
  );
});
