/**
 * The texts by which an answer in JSON, or in plain text, may repeat a secret: as it is, and as a JSON string. Some libraries,
 * such as PHP's, write a slash in JSON as `\/`.
 */
export function secretForms(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, inJson, inJson.replaceAll("/", "\\/")])];
}
