/**
 * The origin whose receiver is the service itself. No such host can exist (RFC 6761, section 6.4), so that a delivery to it never
 * leaves the service, whatever the address guard lets through.
 */
export const tryoutOrigin = "https://tryout.postrider.invalid";

const form = /^https:\/\/tryout\.postrider\.invalid\/[0-9a-f]{32}(?:\?answer=([2-5]\d{2}))?$/;

/** Whether the URL names the service's own receiver, well-formed or not. */
export function isTryoutUrl(url: string): boolean {
  return url.startsWith(`${tryoutOrigin}/`) || url === tryoutOrigin;
}

/** Why the URL cannot be used, to complete a sentence that begins with `url`; undefined when it can. */
export function refuseTryoutUrl(url: string): string | undefined {
  if (form.test(url)) return undefined;
  return `must be ${tryoutOrigin}/ with 32 lower-case hex characters that you chose at random, and optionally ?answer= with a status from 200 to 599`;
}

/** The status with which the receiver answers: 200 unless the URL says otherwise. */
export function answerOf(url: string): number {
  return Number(form.exec(url)?.[1] ?? 200);
}
