import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { stopLeftovers } from "./leftovers.ts";
import { waitUntilReady } from "./readiness.ts";

const hourMs = 3_600_000;

/** A machine without a clock of its own sets the time when it reaches a time server, which may be during the start. */
const it = test
  .extend("directory", ({}, { onCleanup }) => {
    const directory = mkdtempSync(join(tmpdir(), "postrider-clock-"));
    onCleanup(() => rmSync(directory, { recursive: true }));
    return directory;
  })
  .extend("setForward", ({}, { onCleanup }) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onCleanup(() => void vi.useRealTimers());
    return () => void vi.setSystemTime(Date.now() + hourMs);
  });

it("a start waits for the server's recovery although the clock is set forward", async ({
  directory,
  setForward,
}) => {
  let looks = 0;
  const start = {
    connection: { host: directory, port: 5432, user: "postrider", database: "postrider" },
    isNew: false,
    log: () => undefined,
    running(): boolean {
      setForward();
      return ++looks < 4;
    },
  };
  expect(await waitUntilReady(start)).toBe(false);
});

it.runIf(process.platform === "linux")(
  "a start waits for the end of an earlier server although the clock is set forward",
  async ({ directory, setForward }) => {
    const program = join(directory, "postgres");
    // Ends when the file exists, and not by a signal.
    writeFileSync(program, "#!/bin/sh\ntrap '' INT QUIT\nuntil [ -e end ]; do sleep 0.05; done\n", {
      mode: 0o700,
    });
    const leftover = spawn(program, { cwd: directory, stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(leftover, "exit");
    let looks = 0;
    const whileWaiting = async (): Promise<void> => {
      setForward();
      if (++looks === 3) writeFileSync(join(directory, "end"), "");
    };
    await stopLeftovers(directory, "clock", { log: () => undefined, whileWaiting });
    expect(await ended).toEqual([0, null]);
  },
);
