import type { NodemailerError, SMTPTransportOptions } from "nodemailer";
import type { Sender, SmtpServer } from "../config/mailSettings.ts";

/** A mail to one person, in plain text and in HTML that says the same. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** Hands one mail to the mail server, and is rejected when that refuses it or `signal` ends first. */
export type SendMail = (mail: Mail, signal: AbortSignal) => Promise<void>;

/** How long the server may take to accept a connection, to greet, and to say anything at all. */
const stepLimitMs = 10_000;

/**
 * Sends mails over a connection each. The library is loaded with the first mail, because most services send none.
 * Addresses are handed over as objects and never as text, in which the library would look for several.
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
      // No reply to a machine: out-of-office answers and the like (RFC 3834, section 5; Exchange's own).
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
    // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED=0 does not hold for mails.
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

/** Failures of the connection, whose text is Node's or the library's own. */
const ownTexts = new Set(["ECONNECTION", "EDNS", "ESOCKET", "ETIMEDOUT", "ETLS"]);

/**
 * Log fields of a mail that was not sent. A server's answer may repeat the recipient or the link of the mail, so only its status is
 * kept.
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
