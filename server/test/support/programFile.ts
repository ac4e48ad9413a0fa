import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../../..");

/**
 * The file that runs a program: its bundle in a test run (`bundlePrograms.ts`), else the source itself.
 * @param path From the repository's root.
 */
export function programFile(path: string): string {
  const folder = process.env["TEST_PROGRAMS"];
  return folder === undefined ? join(root, path) : join(folder, inJavaScript(path));
}

/** The same path when the source is bundled. */
export function inJavaScript(path: string): string {
  return path.replace(/\.ts$/, ".js");
}
