/** The origin at which the service itself receives deliveries; such a host cannot exist elsewhere (RFC 6761, section 6.4). */
const tryoutOrigin = "https://tryout.postrider.invalid";

/** A new random URL at which the service receives the deliveries of one tryout target. */
export function newTryoutUrl(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${tryoutOrigin}/${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export function isTryout(url: string | undefined): boolean {
  return url?.startsWith(`${tryoutOrigin}/`) === true;
}
