import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";

/** Serves the agent card that a test chooses. */
export interface CardServer {
  url: string;
  origin: string;
  /** Sends the answer; by default a complete card. */
  answer: (response: ServerResponse, headers: IncomingHttpHeaders) => void;
  /** The headers of each request for the card. */
  reads: IncomingHttpHeaders[];
  stop(): Promise<void>;
}

/** A card that the service accepts, with an interface at `url`. */
export function wholeCard(url: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: "Card agent",
    description: "For tests",
    version: "7",
    supportedInterfaces: [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }],
    capabilities: {},
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
    ...fields,
  };
}

export function answerJson(
  response: ServerResponse,
  document: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(200, { "content-type": "application/json", ...headers });
  response.end(typeof document === "string" ? document : JSON.stringify(document));
}

export async function startCardServer(): Promise<CardServer> {
  const server = createServer((request, response) => {
    request.resume();
    cards.reads.push(request.headers);
    cards.answer(response, request.headers);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const cards: CardServer = {
    url: `${origin}/card.json`,
    origin,
    answer: (response) => answerJson(response, wholeCard(`${origin}/a2a`)),
    reads: [],
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return cards;
}
