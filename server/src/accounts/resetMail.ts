import type { Mail } from "../mail/sendBySmtp.ts";
import { resetMinutes } from "./resetStore.ts";

/**
 * The mail with a link to reset a password. The token is in the fragment (after `#`), which browsers do not send, so that
 * no proxy logs it. The mail does not name the organization or who asked, because anybody who knows the address can ask.
 */
export function resetMail({
  email,
  publicUrl,
  token,
}: {
  email: string;
  publicUrl: string;
  token: string;
}): Mail {
  const link = `${publicUrl}/reset#token=${token}`;
  const paragraphs = [
    `Somebody asked to reset the password of the account ${email} at ${publicUrl}.`,
    "To choose a new password, open this link:",
    link,
    `It works once, within ${resetMinutes} minutes, and only as long as no newer one was asked for. When the password is reset, you are signed out everywhere.`,
    "If you did not ask for this, you need not do anything: your password stays as it is, and only who can read this mail can use the link.",
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

/** An address may hold anything but spaces, control characters and a second `@`. */
function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
