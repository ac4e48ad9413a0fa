import { createServer, type ServerResponse } from "node:http";
import { answerJson, wholeCard } from "./cardServer.ts";

/** An agent whose answers the test chooses, including invalid ones. */
export interface ScriptedAgent {
  cardUrl: string;
  /** Ids of the messages that it received. */
  sent: string[];
  /** Its answers to a message, to a poll or a cancellation of a task, and to a request for its task list. */
  answers: {
    message: (response: ServerResponse, messageId: string) => void;
    task: (response: ServerResponse, taskId: string) => void;
    list: (response: ServerResponse) => void;
  };
  stop(): Promise<void>;
}

/** Starts an agent without a task list that accepts every message and knows no task. */
export async function startScriptedAgent(): Promise<ScriptedAgent> {
  const notFound = (response: ServerResponse): void => void response.writeHead(404).end();
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece: Buffer) => (text += piece.toString("utf8")));
    request.on("end", () => {
      const { pathname } = new URL(request.url!, agent.cardUrl);
      if (pathname === "/card.json") answerJson(response, wholeCard(`${origin}/a2a`));
      else if (pathname === "/a2a/tasks") agent.answers.list(response);
      else if (pathname.startsWith("/a2a/tasks/"))
        agent.answers.task(response, pathname.slice("/a2a/tasks/".length).replace(":cancel", ""));
      else {
        const { message } = JSON.parse(text) as { message: { messageId: string } };
        agent.sent.push(message.messageId);
        agent.answers.message(response, message.messageId);
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const agent: ScriptedAgent = {
    cardUrl: `${origin}/card.json`,
    sent: [],
    answers: {
      message: (response) => answerJson(response, { message: { parts: [{ text: "done" }] } }),
      task: notFound,
      list: notFound,
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return agent;
}
