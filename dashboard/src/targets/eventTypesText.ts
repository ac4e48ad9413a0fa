/** A list of event types as it is typed. */
export function eventTypesOf(text: string): string[] {
  return text
    .split(",")
    .map((type) => type.trim())
    .filter((type) => type !== "");
}
