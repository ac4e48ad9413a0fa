import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Smaller answers, in bytes, are not worth the CPU time of compression. */
const worthwhile = 1024;
/** Level 1 of 9: for JSON, the result is nearly as small as at level 6, for a third of the CPU time. */
const compress = promisify(gzip);
const level = 1;

/**
 * Compresses JSON answers and pages of more than 1 KiB for clients that accept gzip, in the thread pool. Answers of the fast
 * path, event streams and content that is already compressed are not changed. Answers to POST are not compressed, because they
 * may contain secrets: the compressed length could reveal a secret next to text that the client chose (BREACH).
 */
export function compressAnswers(app: FastifyInstance): void {
  app.addHook("onSend", async (request, reply, payload) => {
    if (!mayCompress(request, reply, payload)) return payload;
    void reply.header("vary", "Accept-Encoding");
    if (!takesGzip(request.headers["accept-encoding"])) return payload;
    const compressed = await compress(payload, { level });
    void reply.header("content-encoding", "gzip").removeHeader("content-length");
    return compressed;
  });
}

function mayCompress(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): payload is string | Buffer {
  return (
    (request.method === "GET" || request.method === "HEAD") &&
    (typeof payload === "string" || Buffer.isBuffer(payload)) &&
    Buffer.byteLength(payload) > worthwhile &&
    /^(?:application\/json|text\/(?:html|css|javascript))\b/.test(String(reply.getHeader("content-type"))) &&
    reply.getHeader("content-encoding") === undefined
  );
}

/** Whether `Accept-Encoding` (RFC 9110 §12.5.3) accepts gzip: by name or by `*`, and not with `q=0`. */
function takesGzip(accepted: string | string[] | undefined): boolean {
  const weights = new Map(
    String(accepted ?? "")
      .toLowerCase()
      .split(",")
      .map((part) => {
        const [coding, ...parameters] = part.split(";").map((text) => text.trim());
        const q = parameters.find((parameter) => parameter.startsWith("q="));
        return [coding!, q === undefined ? 1 : Number(q.slice(2))] as const;
      }),
  );
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0;
}
