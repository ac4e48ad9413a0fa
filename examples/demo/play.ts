import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { parseArgs } from "node:util";
import { ApiClient } from "./apiClient.ts";
import { startOwnService } from "./ownService.ts";

/** A server on a free port of this machine. */
export interface LocalServer {
  url: string;
  close: () => Promise<void>;
}

/** The parameters of a story. */
export interface Play<Server> {
  api: ApiClient;
  server: Server;
  say: (line: string) => void;
}

/**
 * Plays a story against the service at `--url`, or against a service that it starts. If the story fails, it prints the reason
 * and sets exit code 1.
 * @param what the name of the story in messages, such as "demo".
 */
export async function play<Server extends Pick<LocalServer, "close">>(
  what: string,
  startServer: () => Promise<Server>,
  story: (play: Play<Server>) => Promise<void>,
): Promise<void> {
  const { values } = parseArgs({ options: { url: { type: "string" } } });
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const own = values.url === undefined ? await startOwnService(say) : undefined;
  const server = await startServer();
  try {
    await story({ api: new ApiClient(values.url ?? own!.url), server, say });
  } catch (error) {
    say(`\nThe ${what} stopped: ${(error as Error).message}`);
    process.exitCode = 1;
  } finally {
    await server.close();
    await own?.stop();
  }
}

/** Starts a server that answers each request once its body has arrived. */
export async function startLocalServer(
  answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => void,
): Promise<LocalServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(request, Buffer.concat(chunks), response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
