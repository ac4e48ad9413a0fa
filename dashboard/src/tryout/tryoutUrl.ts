/** Where the service itself receives: a host that cannot exist elsewhere (RFC 6761, section 6.4). */
const tryoutOrigin = "https://tryout.postrider.invalid";

/** An address at which nothing but this organization's new target is received. */
export function newTryoutUrl(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${tryoutOrigin}/${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

export function isTryout(url: string | undefined): boolean {
  return url?.startsWith(`${tryoutOrigin}/`) === true;
}
