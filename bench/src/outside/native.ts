import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { endWithThis, removeWithThis } from "../processes.ts";

/** A C program in `native`, which writes records of a fixed length to its standard output. */
export type NativeName = "publish" | "receive";

const run = promisify(execFile);

/** Whether this machine has a C compiler. */
export async function hasCompiler(): Promise<boolean> {
  return run("cc", ["--version"]).then(
    () => true,
    () => false,
  );
}

/** Compiles a program; it is removed when this process ends. Resolves with its path. */
export async function compileNative(name: NativeName): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "postrider-bench-"));
  removeWithThis(folder);
  const program = join(folder, name);
  const source = fileURLToPath(new URL(`./native/${name}.c`, import.meta.url));
  await run("cc", ["-O2", "-o", program, source]);
  return program;
}

/** Starts a compiled program; its standard input and output are pipes. */
export async function startNative(program: string, args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  endWithThis(child);
  await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  return child;
}

/** Calls `onRecord` with each record of `recordBytes` that the program writes. */
export function readRecords(
  program: ChildProcess,
  recordBytes: number,
  onRecord: (records: DataView, at: number) => void,
): void {
  let partial: Buffer = Buffer.alloc(0);
  program.stdout!.on("data", (piece: Buffer) => {
    const bytes = partial.length === 0 ? piece : Buffer.concat([partial, piece]);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    for (; at + recordBytes <= bytes.length; at += recordBytes) onRecord(view, at);
    partial = bytes.subarray(at);
  });
}
