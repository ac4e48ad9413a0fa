import fastify, { type FastifyInstance } from "fastify";

/** A Fastify like the service's, without routes or storage; `parse` turns the bytes of a body into the request's body. */
export function createBareApp(parse: (body: Buffer) => unknown): FastifyInstance {
  const app = fastify({ logger: false });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: unknown, body: Buffer) => parse(body),
  );
  return app;
}

/** Listens on loopback until SIGTERM, and prints the port. */
export async function serveBare(app: FastifyInstance): Promise<void> {
  await app.listen({ port: 0, host: "127.0.0.1" });
  const address = app.server.address();
  process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
  process.once("SIGTERM", () => void app.close());
}
