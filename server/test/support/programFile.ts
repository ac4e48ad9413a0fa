import { join } from "node:path";
import { bundleOf, root } from "../../scripts/bundlePrograms.ts";

/**
 * The file that runs a program: its bundle in a test run (`bundlePrograms.ts`), else the source itself.
 * @param path relative to the repository's root.
 */
export function programFile(path: string): string {
  const folder = process.env["TEST_PROGRAMS"];
  return folder === undefined ? join(root, path) : join(folder, bundleOf(path));
}
