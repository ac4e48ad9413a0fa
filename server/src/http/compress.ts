import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

/** Bytes; less is not worth the processor time. */
const worthwhile = 1024;
/** Level 1 of 9: nearly as small for JSON as 6, at a third of the processor time. */
const compress = promisify(gzip);
const level = 1;

/**
 * Compresses JSON answers and pages to reads of more than 1 KiB for clients that take gzip, in the thread pool. Answers of the fast path, event
 * streams and what is compressed already pass as they are. Secrets stand in answers to POST, which are left alone: the length of
 * a compressed answer could tell of a secret beside text that a client chose (BREACH).
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

/** Whether `Accept-Encoding` (RFC 9110 §12.5.3) takes gzip: by name or by `*`, and not with `q=0`. */
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
