/** What a name is, for people: what an item's type may be, but for `*`, which means a prefix in a target's list. */
export const typeNameRule = "1 to 256 printable ASCII characters without *, and no blank at either end";

const typeName = /^[!-)+-~](?:[ -)+-~]{0,254}[!-)+-~])?$/;

/** Whether the catalogue can hold a type of this name. Clients resolve `.` and `..` in a path before they send it. */
export function isTypeName(text: string): boolean {
  return typeName.test(text) && text !== "." && text !== "..";
}
