/** Parses a comma-separated list of event types. */
export function eventTypesOf(text: string): string[] {
  return text
    .split(",")
    .map((type) => type.trim())
    .filter((type) => type !== "");
}
