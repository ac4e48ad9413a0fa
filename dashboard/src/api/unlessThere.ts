import { Problem } from "./problem.ts";

/**
 * Makes something under a name of its own; nothing where there is one of this name, which the call would change.
 *
 * @throws {Problem}
 */
export async function unlessThere<T>(
  read: () => Promise<unknown>,
  make: () => Promise<T>,
): Promise<T | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
  }
  return make();
}
