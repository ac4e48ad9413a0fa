import { readFileSync } from "node:fs";
import { basename } from "node:path";

/**
 * Whether this process was started with SIGHUP ignored, as by `nohup`. Node resets ignored signals when it starts, so that two
 * traces are left: the variable `_`, in which bash and zsh name the program that they started, and, on Linux, the signals that
 * the parent ignores, because its children inherit them.
 */
export function wasHangupIgnored(env: NodeJS.ProcessEnv): boolean {
  return basename(env["_"] ?? "") === "nohup" || isIgnoredByParent();
}

function isIgnoredByParent(): boolean {
  try {
    const status = readFileSync(`/proc/${process.ppid}/status`, "utf8");
    const [, ignored = "0"] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(status) ?? [];
    // The lowest bit is signal 1, SIGHUP.
    return (BigInt(`0x${ignored}`) & 1n) === 1n;
  } catch {
    return false;
  }
}
