import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { isHost } from "../contract/headProblem.ts";
import type { WholeRequest } from "../contract/route.ts";

/** The head of a request for the fast path. */
export interface FastHead extends Omit<WholeRequest, "body"> {
  /** The length of the body, at least one byte. */
  bodyBytes: number;
}

const idPath = /^(\/[a-z0-9/-]*?\/)([0-9a-f]{32})((?:\/[a-z]+)?)$/;
/** The path of a publication, with or without a customer's uid. */
const publicationPath = /^\/p(?:\/([A-Za-z0-9._:-]{1,128}))?$/;
const bearer = /^[Bb]earer (ak_live_[0-9a-f]{64})$/;
const decimal = /^[1-9][0-9]{0,7}$/;

/**
 * Reads the head of a plain request: HTTP/1.1, POST, a path with one id or the path of a publication, no repeated header, a
 * stated length, a JSON body, an API key, and no header that asks for special handling. Returns undefined for every other
 * request, which the framework answers or refuses; this function refuses nothing.
 */
export function readHead(request: Head): FastHead | undefined {
  const { httpVersion, method, url, rawHeaders } = request;
  if (httpVersion !== "1.1" || method !== "POST" || url === undefined) return undefined;
  const target = readPath(url);
  if (target === undefined) return undefined;
  // Node joins the values of a repeated header, or drops all but the first.
  const { headers } = request;
  if (2 * Object.keys(headers).length !== rawHeaders.length || !isPlain(headers)) return undefined;
  const key = bearer.exec(headers.authorization ?? "")?.[1];
  const length = headers["content-length"];
  if (key === undefined || length === undefined || !decimal.test(length)) return undefined;
  return { path: target.path, id: target.id, headers, key, bodyBytes: Number(length) };
}

/** The head of a request, from Node's parser. */
export type Head = Pick<IncomingMessage, "httpVersion" | "method" | "url" | "headers" | "rawHeaders">;

function readPath(url: string): Pick<FastHead, "path" | "id"> | undefined {
  const named = idPath.exec(url);
  if (named !== null) return { path: `${named[1]}:id${named[3]}`, id: named[2]! };
  const publication = publicationPath.exec(url);
  if (publication === null) return undefined;
  const customer = publication[1];
  if (customer === undefined) return { path: "/p", id: "" };
  // Clients resolve `.` and `..`; the framework handles requests of clients that do not.
  if (customer === "." || customer === "..") return undefined;
  return { path: "/p/:id", id: customer };
}

/** Whether no header needs the framework, and no header is missing that the framework would require. */
function isPlain(headers: IncomingHttpHeaders): boolean {
  return (
    headers["content-type"] === "application/json" &&
    headers.host !== undefined &&
    isHost(headers.host) &&
    headers["transfer-encoding"] === undefined &&
    headers["content-encoding"] === undefined &&
    headers.expect === undefined &&
    headers.upgrade === undefined
  );
}
