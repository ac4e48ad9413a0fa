import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Recorder } from "./history/history.ts";
import { openSession, type Session, type SessionInput } from "./session.ts";
import { startWorld, type World } from "./world/world.ts";

type OnTestFinished = (end: () => void | Promise<void>) => void;

/** Starts a world of the programs that tests bundle, with a recorder; both end with the test. */
export async function testWorld(
  onTestFinished: OnTestFinished,
  input: SessionInput = {},
): Promise<{ world: World; recorder: Recorder }> {
  const { session, folder } = await testSession(onTestFinished, input);
  const dataFolder = session.newDataFolder("world");
  const world = await startWorld({ ...session, dataFolder, logFolder: folder, hasFullDisk: false });
  onTestFinished(() => world.stop());
  return { world, recorder: new Recorder(join(folder, "history.jsonl")) };
}

/** Opens a session of the programs that tests bundle, with an output folder; both end with the test. */
export async function testSession(
  onTestFinished: OnTestFinished,
  input: SessionInput = {},
): Promise<{ session: Session; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "postrider-faults-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const session = await openSession(input);
  onTestFinished(() => session.close());
  return { session, folder };
}
