import { readStdioService, serveStdio } from "../../mcp/serveStdio.ts";

/**
 * `postrider mcp`: the tools for an agent that starts this process and talks over its standard input and output, for a
 * service anywhere that `POSTRIDER_URL` and `POSTRIDER_KEY` name; `bin/load.cjs` sets both from the options or a profile.
 * Ends with its input, or by SIGINT or SIGTERM.
 */
export async function runMcpCommand({
  env,
  stdin,
  stdout,
}: Pick<NodeJS.Process, "env" | "stdin" | "stdout">): Promise<void> {
  const service = readStdioService(env);
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  await serveStdio(service, { input: stdin, output: stdout }, stopping.signal);
  stdin.destroy();
}
