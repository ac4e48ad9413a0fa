/** The URL that a text is, or undefined. Safari has `URL.parse` only since version 18. */
export function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
