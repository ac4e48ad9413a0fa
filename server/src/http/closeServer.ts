import type { FastifyInstance } from "fastify";

/** How long requests that are under way may take to end, and clients that idle in between to notice. */
const graceMs = 5_000;
const lookEveryMs = 100;

/**
 * Stops listening and resolves when every connection has ended. Answers from now on end their connection; one
 * that falls idle is closed, and what is not over in time is cut off: a client that never finishes its request must
 * not keep the process.
 */
export async function closeServer(app: FastifyInstance): Promise<void> {
  const deadlineMs = performance.now() + graceMs;
  const sweep = setInterval(() => {
    if (performance.now() > deadlineMs) {
      app.server.closeAllConnections();
      app.fastPath?.closeAll();
    } else {
      app.server.closeIdleConnections();
      app.fastPath?.closeIdle();
    }
  }, lookEveryMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
  }
}
