import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Config } from "../config/config.ts";
import { isId } from "../postgres/ids.ts";
import { pathPrefix } from "./server.ts";

export interface DashboardDeps {
  config: Pick<Config, "publicUrl" | "mail">;
  framingOf: (orgId: string) => Promise<Framing>;
  /** Where it was built; by default where a checkout or a package has it. */
  folder?: string | undefined;
}

/** Limits on the page of an organization's portal: whose pages may frame it, and where its logo may come from. */
export interface Framing {
  /** Origins whose pages may show it. */
  ancestors: readonly string[];
  /** The origin of the logo, if that is elsewhere. */
  images: string | undefined;
}

/**
 * Serves the dashboard: its page at each of its paths, its files below `/assets/`. The content security policy lets the page
 * load from this origin only.
 *
 * @returns false when it was not built, and the interface is served alone.
 */
export function addDashboard(app: FastifyInstance, deps: DashboardDeps): boolean {
  const { config, framingOf, folder = builtFolder() } = deps;
  if (folder === undefined) return false;
  const page = pageBelow(join(folder, "index.html"), pathPrefix(config.publicUrl), config.mail !== undefined);
  const sendPage = (_request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    answerPage(reply, 200, page());
  for (const path of pagePaths) app.get(path, sendPage);
  for (const path of portalPaths) {
    app.get<{ Params: { org_id: string } }>(path, async ({ params }, reply) => {
      const framing = isId(params.org_id) ? await framingOf(params.org_id) : nobodys;
      return answerPage(reply, 200, page(), framing);
    });
  }
  // A path without a route or a page is answered with a page for people, and with JSON for programs.
  const sendNothing = (request: FastifyRequest, reply: FastifyReply): unknown =>
    wantsPage(request) ? answerPage(reply, 404, page()) : reply.callNotFound();
  app.get("/*", sendNothing);
  addFiles(app, folder, sendNothing);
  return true;
}

/**
 * Serves what was built but the page itself. One route for all that is below `/assets/`: one for each file, as the plugin
 * adds them, took a fifth of the processor time of a start.
 */
function addFiles(
  app: FastifyInstance,
  folder: string,
  sendNothing: (request: FastifyRequest, reply: FastifyReply) => unknown,
): void {
  app.register(async (files) => {
    await files.register(fastifyStatic, {
      root: folder,
      serve: false,
      preCompressed: true,
      setHeaders: (reply, path) => {
        void reply.header("x-content-type-options", "nosniff");
        // The names of built files hold a hash of what is in them.
        if (path.includes("/assets/"))
          void reply.header("cache-control", "public, max-age=31536000, immutable");
      },
    });
    files.get<{ Params: { file: string } }>("/assets/:file", (request, reply) => {
      const { file } = request.params;
      const isThere = assetName.test(file) && existsSync(join(folder, "assets", file));
      return isThere ? reply.sendFile(`assets/${file}`) : sendNothing(request, reply);
    });
    for (const file of besidePage) files.get(`/${file}`, (_request, reply) => reply.sendFile(file));
  });
}

/** Names that the build gives to files. */
const assetName = /^[\w-][\w.-]*$/;

/** The files of `dashboard/public`. */
const besidePage = ["theme.js", "mark.svg"];

/** The pages of `dashboard/src/router.tsx`. */
export const pagePaths = [
  "/",
  "/sign-in",
  "/sign-up",
  "/join",
  "/forgot-password",
  "/reset",
  "/start",
  "/demo",
  "/items",
  "/items/*",
  "/targets",
  "/targets/*",
  "/customers",
  "/customers/*",
  "/event-types",
  "/publications",
  "/publications/*",
  "/mailboxes",
  "/mailboxes/*",
  "/handoffs",
  "/replays",
  "/replays/*",
  "/usage",
  "/billing",
  "/settings",
];

/**
 * The portal of an organization's customers, which is the same page. The path names the organization, because nothing else
 * of the request does: whose pages may show it depends on that.
 */
export const portalPaths = ["/portal/:org_id", "/portal/:org_id/*"];

/** Whether there is a page to serve. */
export function isDashboardBuilt(): boolean {
  return builtFolder() !== undefined;
}

/** In a checkout the workspace builds it beside the server; a published package holds it. */
function builtFolder(): string | undefined {
  return ["../../../dashboard/dist", "../../dashboard"]
    .map((path) => join(import.meta.dirname, path))
    .find((folder) => existsSync(join(folder, "index.html")));
}

/**
 * The page with its relative addresses made absolute, so that they hold at every depth of its paths; and with what it has to
 * know before anybody signs in (`dashboard/src/api/sendsMail.ts`). It is read again once the file is another one: an upgrade
 * replaces it, and removes the parts that the one before names, while the service still runs.
 */
function pageBelow(file: string, prefix: string, sendsMail: boolean): () => string {
  const safe = prefix.replaceAll("&", "&amp;");
  const read = (): string => {
    const page = readFileSync(file, "utf8").replaceAll(/\b(src|href)="\.\//g, `$1="${safe}/`);
    return sendsMail
      ? page.replace("</head>", '<meta name="postrider-sends-mail" content="yes" /></head>')
      : page;
  };
  // Packages give all their files the same time of modification.
  const changedAtMs = (): number | undefined => statSync(file, { throwIfNoEntry: false })?.ctimeMs;
  let known = { page: read(), atMs: changedAtMs() };
  return () => {
    const atMs = changedAtMs();
    if (atMs !== undefined && atMs !== known.atMs) known = { page: read(), atMs };
    return known.page;
  };
}

/** Everything from here, nothing inline and nothing from elsewhere. No `upgrade-insecure-requests`: it blanks plain http. */
function contentSecurityPolicy({ ancestors, images }: Framing): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["img-src 'self' data:", ...(images === undefined ? [] : [images])].join(" "),
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(" ")}`,
  ].join("; ");
}

const nobodys: Framing = { ancestors: [], images: undefined };

function answerPage(reply: FastifyReply, status: number, page: string, framing = nobodys): FastifyReply {
  return reply
    .code(status)
    .headers({
      "content-security-policy": contentSecurityPolicy(framing),
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    })
    .send(page);
}

/** A browser that was sent to an address, not a program that asks the interface. */
function wantsPage({ url, headers }: FastifyRequest): boolean {
  return !url.startsWith("/api/") && (headers.accept ?? "").includes("text/html");
}
