import { createServer, connect, type Socket } from "node:net";

/** A TCP proxy in front of an agent that can lose answers after the agent has processed the request. */
export interface AnswerProxy {
  url: string;
  /** Handling of answers to messages from now on: forwarded, connection reset, or never sent. */
  answers: "pass" | "reset" | "swallow";
  /** Number of lost answers. */
  lost: number;
  stop(): Promise<void>;
}

/** Starts a proxy to `port` on loopback; only answers on connections that carried a `message:send` are lost. */
export async function startAnswerProxy(port: number): Promise<AnswerProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    let carriesMessage = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => sockets.delete(socket));
    }
    client.on("data", (chunk) => {
      if (chunk.includes("/message:send ")) carriesMessage = true;
      else if (/^(?:GET|POST) /.test(chunk.toString("latin1"))) carriesMessage = false;
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (!carriesMessage || proxy.answers === "pass") {
        client.write(chunk);
        return;
      }
      proxy.lost++;
      if (proxy.answers === "reset") client.resetAndDestroy();
    });
    client.on("end", () => upstream.end());
    upstream.on("end", () => client.end());
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const proxy: AnswerProxy = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    answers: "pass",
    lost: 0,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
