import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";

/** A received mail. */
export interface ReceivedMail {
  /** Recipients of the envelope. */
  to: string[];
  sender: string | undefined;
  subject: string | undefined;
  text: string;
  html: string;
  headers: Record<string, string>;
  /** Whether it was sent over TLS, and the user of the login. */
  isEncrypted: boolean;
  user: string | undefined;
}

export interface MailServer {
  port: number;
  mails: ReceivedMail[];
  /** Number of connected clients so far. */
  connections(): number;
  stop(): Promise<void>;
}

export interface MailServerOptions {
  /** Uses the certificate in `certificates`, for `localhost`; `starttls` offers TLS, `off` does not. */
  encryption?: "tls" | "starttls" | "off";
  /** The only accepted login; without it clients send without a login. */
  login?: { user: string; password: string };
  /** Refuses each mail with an answer that repeats the sent text. */
  refuses?: boolean;
}

const certificates = new URL("certificates/", import.meta.url);

/** A self-signed certificate, which clients trust only if they are told to (`NODE_EXTRA_CA_CERTS`). */
export const mailCertificate = new URL("server.pem", certificates);

/** A real mail server on loopback that keeps the mails it receives. */
export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { encryption = "off", login, refuses = false } = options;
  const mails: ReceivedMail[] = [];
  let connections = 0;
  const server = new SMTPServer({
    secure: encryption === "tls",
    cert: readFileSync(mailCertificate),
    key: readFileSync(new URL("server.key", certificates)),
    disabledCommands: [...(encryption === "off" ? ["STARTTLS"] : []), ...(login ? [] : ["AUTH"])],
    authOptional: login === undefined,
    disableReverseLookup: true,
    onConnect(_session, callback) {
      connections += 1;
      callback();
    },
    onAuth({ username, password }, _session, callback) {
      if (username === login?.user && password === login?.password) callback(null, { user: username });
      else callback(new Error(`wrong: ${username} ${password}`));
    },
    async onData(stream, session, callback) {
      const bytes = await buffer(stream);
      const { subject, text = "", html = "", headers } = await PostalMime.parse(bytes);
      if (refuses) {
        callback(
          Object.assign(new Error(`not wanted: ${text.replaceAll(/\s+/g, " ")}`), { responseCode: 554 }),
        );
        return;
      }
      const { mailFrom, rcptTo } = session.envelope;
      mails.push({
        to: rcptTo.map(({ address }) => address),
        sender: mailFrom === false ? undefined : mailFrom.address,
        subject,
        text,
        html,
        headers: Object.fromEntries(headers.map(({ key, value }) => [key, value])),
        isEncrypted: session.secure,
        user: session.user,
      });
      callback();
    },
  });
  // A client that refuses the certificate causes an error of the connection.
  server.on("error", () => undefined);
  const listener = server.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    port: (listener.address() as AddressInfo).port,
    mails,
    connections: () => connections,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** The token in the link of a mail. @throws {Error} when there is none. */
export function tokenOf({ text }: Pick<ReceivedMail, "text">): string {
  const [, token] = /\/reset#token=(rst_[0-9a-f]{64})\s/.exec(text) ?? [];
  if (token === undefined) throw new Error(`no link in: ${text}`);
  return token;
}
