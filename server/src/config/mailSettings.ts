import { type Settings, ValueError } from "./parsers.ts";

/** The mail server through which the service sends, and how to connect to it. */
export interface SmtpServer {
  host: string;
  port: number;
  /** TLS from the first byte, STARTTLS before anything else, or no encryption. */
  encryption: "tls" | "starttls" | "off";
  credentials: { user: string; password: string } | undefined;
}

export interface Sender {
  /** Empty when only the address is given. */
  name: string;
  address: string;
}

/** Everything that is needed to send a mail. */
export interface MailConfig {
  server: SmtpServer;
  from: Sender;
  /** The base URL of the links in mails. */
  publicUrl: string;
}

/** Settings of the mails that the service sends: links to reset passwords. */
export const mailSettings = {
  smtpServer: {
    name: "POSTRIDER_SMTP_URL",
    parse: smtpUrl,
    unset: "no mail is sent",
    secret: true,
    description:
      "The mail server that sends links to reset forgotten passwords, as `smtps://user:password@mail.example.com` (TLS, port 465 unless given) or `smtp://user:password@mail.example.com` (STARTTLS, which is required; port 587). Certificates are verified; `NODE_EXTRA_CA_CERTS` names your own certificate authority. A relay on the same machine without TLS is `smtp://localhost:25?tls=off`, without a password. Needs `POSTRIDER_MAIL_FROM` and `POSTRIDER_PUBLIC_URL`, which the links begin with.",
  },
  mailFrom: {
    name: "POSTRIDER_MAIL_FROM",
    parse: sender,
    unset: "required by `POSTRIDER_SMTP_URL`",
    description:
      "The sender of mails: an address, or a name and an address as `Postrider <postrider@example.com>`.",
  },
} satisfies Settings;

const example = "smtps://user:password@mail.example.com";

/** Reads a mail server's URL. Refuses other options of the mail library, which could turn verification off. */
function smtpUrl(text: string): SmtpServer {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isTls = url?.protocol === "smtps:";
  const host = url?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";
  if (url === undefined || !(isTls || url.protocol === "smtp:") || !/^[a-z0-9.:-]+$/i.test(host)) {
    throw new ValueError(`must be a URL such as ${example}`);
  }
  if (!/^\/?$/.test(url.pathname) || url.hash !== "" || !["", "?tls=off"].includes(url.search)) {
    throw new ValueError(`must have nothing after the host and the port except ?tls=off`);
  }
  const isOff = url.search !== "";
  if (isTls && isOff) throw new ValueError("must begin with smtp:// if it ends with ?tls=off");
  const credentials = credentialsOf(url);
  if (isOff && credentials !== undefined) {
    throw new ValueError("must have no password if it ends with ?tls=off, which would send it in clear");
  }
  return {
    host,
    port: url.port === "" ? (isTls ? 465 : 587) : Number(url.port),
    encryption: isTls ? "tls" : isOff ? "off" : "starttls",
    credentials,
  };
}

function credentialsOf({ username, password }: URL): SmtpServer["credentials"] {
  if (username === "" && password === "") return undefined;
  if (username === "" || password === "") throw new ValueError("must have a user and a password, or neither");
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    throw new ValueError("must have special characters in user and password percent-encoded, % as %25");
  }
}

/** Reads an address with or without a name. The name must be plain text: it becomes a header of each mail. */
function sender(text: string): Sender {
  const [, name = "", inBrackets] = /^([^<>\p{Cc}]*)<([^<>]*)>$/u.exec(text) ?? [];
  const address = inBrackets ?? text;
  if (address.length > 254 || name.length > 128 || !/^[^@\s\p{Cc}<>,;:"()]+@[a-z0-9.-]+$/iu.test(address)) {
    throw new ValueError(
      "must be an address, or a name and an address such as Postrider <postrider@example.com>",
    );
  }
  return { name: name.trim().replace(/^"(.*)"$/, "$1"), address };
}
