/** Hides a credential in what an agent said, for records and answers. An agent may repeat what it was sent. */
export interface CredentialMask {
  text(text: string): string;
  bytes(bytes: Buffer): Buffer;
  /** All texts of a JSON value; names of fields stay, because they may be the protocol's. */
  value(value: unknown): unknown;
}

const shown = "[token]";

/**
 * A mask for these secrets. It is applied to texts that are stored and shown, and never before an answer is read: a credential
 * such as `id` would make a valid answer invalid.
 */
export function createCredentialMask(secrets: readonly string[]): CredentialMask {
  const forms = [...new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
  const text = (one: string): string => forms.reduce((masked, form) => masked.replaceAll(form, shown), one);
  const value = (one: unknown): unknown => {
    if (typeof one === "string") return text(one);
    if (Array.isArray(one)) return one.map(value);
    if (one === null || typeof one !== "object") return one;
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [name, value(member)]));
  };
  if (forms.length === 0) return noMask;
  return {
    text,
    value,
    bytes: (bytes) =>
      forms.some((form) => bytes.includes(form))
        ? Buffer.from(text(bytes.toString("latin1")), "latin1")
        : bytes,
  };
}

/** For an agent that is called without a credential. */
export const noMask: CredentialMask = {
  text: (text) => text,
  bytes: (bytes) => bytes,
  value: (value) => value,
};
