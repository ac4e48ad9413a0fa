import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, type Session, type SessionInput } from "./session.ts";

/** A session of the programs that tests bundle, and a folder for what is written down; both end with the test. */
export async function testSession(
  onTestFinished: (end: () => void | Promise<void>) => void,
  input: SessionInput = {},
): Promise<{ session: Session; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "postrider-faults-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const session = await openSession(input);
  onTestFinished(() => session.close());
  return { session, folder };
}
