import type { NodemailerError, SMTPTransportOptions } from "nodemailer";
import type { Sender, SmtpServer } from "../config/mailSettings.ts";

/** A mail to one recipient, with the same content as plain text and as HTML. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** Sends one mail through the mail server; rejects when the server refuses the mail or `signal` aborts first. */
export type SendMail = (mail: Mail, signal: AbortSignal) => Promise<void>;

/** Timeout for the connection, for the server's greeting, and for each answer. */
const stepLimitMs = 10_000;

/**
 * Returns a function that sends each mail over its own connection. Loads the mail library at the first mail, because most
 * services send none. Passes addresses as objects, because the library could read several addresses from a text.
 */
export function createSmtpSender(server: SmtpServer, from: Sender): SendMail {
  return async ({ to, subject, text, html }, signal) => {
    const { createTransport } = await import("nodemailer");
    const recipient = { name: "", address: to };
    await createTransport(transportOptions(server)).sendMail({
      from,
      to: recipient,
      envelope: { from, to: recipient },
      subject,
      text,
      html,
      // Suppresses automatic replies such as out-of-office (RFC 3834, section 5, and Exchange's own header).
      headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
      disableFileAccess: true,
      disableUrlAccess: true,
      signal,
    });
  };
}

function transportOptions({ host, port, encryption, credentials }: SmtpServer): SMTPTransportOptions {
  return {
    host,
    port,
    secure: encryption === "tls",
    requireTLS: encryption === "starttls",
    ignoreTLS: encryption === "off",
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect on mails.
    tls: { rejectUnauthorized: true, minVersion: "TLSv1.2" },
    ...(credentials && { auth: { user: credentials.user, pass: credentials.password } }),
    connectionTimeout: stepLimitMs,
    greetingTimeout: stepLimitMs,
    dnsTimeout: stepLimitMs,
    socketTimeout: stepLimitMs,
    socketCloseTimeout: 0,
    logger: false,
  };
}

/** Codes of connection failures, whose message comes from Node or the library and not from the server. */
const ownTexts = new Set(["ECONNECTION", "EDNS", "ESOCKET", "ETIMEDOUT", "ETLS"]);

/**
 * The log fields of a failed mail. A server's answer may repeat the recipient or the link, so only its status is logged.
 */
export function describeMailFailure(error: unknown): Record<string, string | number> {
  if (!(error instanceof Error)) return { reason: "unknown" };
  const { code, command, responseCode, message } = error as NodemailerError;
  if (code === undefined) return { reason: error.name };
  return {
    code,
    ...(command !== undefined && { smtp_command: command }),
    ...(responseCode !== undefined && { smtp_status: responseCode }),
    ...(responseCode === undefined && ownTexts.has(code) && { reason: message }),
  };
}
