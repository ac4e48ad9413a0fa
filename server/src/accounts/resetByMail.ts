import type pg from "pg";
import type { RequestTrace } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { hashCredential } from "../http/contract/credentials.ts";
import type { Mail } from "../mail/sendBySmtp.ts";
import { inTransaction } from "../postgres/pool.ts";
import { type PasswordDeps, replacePassword } from "./changePassword.ts";
import { findReset, resetMinutes, startReset, useReset } from "./resetStore.ts";
import { findUser, lockUser } from "./userStore.ts";

/**
 * Creates the mail with a link to reset an account's password; undefined when the address has no account. The audit log
 * records both cases; as for logins, the given address is stored only if an account has it.
 *
 * The mail goes to the stored address, never to the given one: two texts with the same `emailKey` may be two different
 * mailboxes for a mail server.
 */
export async function prepareResetMail(
  pool: pg.Pool,
  input: { emailKey: string; publicUrl: string },
  request: RequestTrace,
): Promise<Mail | undefined> {
  const user = (await findUser(pool, "email_key", input.emailKey))?.user;
  const token = await inTransaction(pool, async (client) => {
    // `lockUser` returns false if the user has been removed since.
    const isThere = user !== undefined && (await lockUser(client, user.id));
    const started = isThere ? await startReset(client, user.id) : undefined;
    const origin = { orgId: user?.org_id ?? null, actor: { kind: "unknown" }, request } as const;
    const object = { kind: "user", id: user?.id ?? null, name: user?.email ?? null } as const;
    await recordChange(client, origin, { action: "password.reset_requested", object });
    return started;
  });
  if (user === undefined || token === undefined) return undefined;
  return resetMail({ email: user.email, publicUrl: input.publicUrl, token });
}

/** `gone`: the link is unknown, was used or replaced, or has expired. */
export type ResetByTokenOutcome = "reset" | "gone" | "overloaded";

/** Changes the password of a mailed link's user; a link works once. Every session of the user ends. */
export async function resetByToken(
  deps: PasswordDeps,
  input: { token: string; wanted: string },
  request: RequestTrace,
): Promise<ResetByTokenOutcome> {
  const tokenHash = hashCredential(input.token);
  const userId = await findReset(deps.pool, tokenHash);
  const found = userId === undefined ? undefined : await findUser(deps.pool, "id", userId);
  if (found === undefined) return "gone";
  const { user } = found;
  const passwordHash = await deps.passwords.hash(input.wanted);
  if (passwordHash === undefined) return "overloaded";
  return inTransaction(deps.pool, async (client) => {
    if (!(await lockUser(client, user.id)) || !(await useReset(client, tokenHash))) return "gone";
    const ended = await replacePassword(client, user.id, passwordHash);
    const object = { kind: "user", id: user.id, name: user.email } as const;
    const origin = { orgId: user.org_id, actor: object, request };
    const after = { sessions_ended: ended };
    await recordChange(client, origin, { action: "password.reset", object, after });
    return "reset";
  });
}

/**
 * The mail with a link to reset a password. The token is in the URL's fragment (after `#`), which browsers do not send, so that
 * no proxy logs it. The mail names neither the organization nor the sender of the request: anybody who knows the address can ask.
 */
export function resetMail({
  email,
  publicUrl,
  token,
}: Record<"email" | "publicUrl" | "token", string>): Mail {
  const link = `${publicUrl}/reset#token=${token}`;
  const paragraphs = [
    `Somebody asked to reset the password of the account ${email} at ${publicUrl}.`,
    "To choose a new password, open this link:",
    link,
    `The link works once. It expires after ${resetMinutes} minutes, or when a newer link is requested. When you reset the password, you are signed out everywhere.`,
    "If you did not request this email, you do not have to do anything: your password does not change, and only people who can read this email can use the link.",
  ];
  return {
    to: email,
    subject: "Reset your Postrider password",
    text: `${paragraphs.join("\n\n")}\n`,
    html: htmlOf(paragraphs, link),
  };
}

function htmlOf(paragraphs: readonly string[], link: string): string {
  const lines = paragraphs.map((text) => {
    const safe = escapeHtml(text);
    return `<p>${text === link ? `<a href="${safe}">${safe}</a>` : safe}</p>`;
  });
  return `<!doctype html>\n<html lang="en"><body>\n${lines.join("\n")}\n</body></html>\n`;
}

/** Escapes text for HTML: an address may contain characters such as `&` and quotation marks. */
function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
