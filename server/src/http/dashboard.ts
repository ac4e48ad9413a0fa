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
  /** The folder of the build; by default that of the checkout or the package. */
  folder?: string | undefined;
}

/** Limits on the page of an organization's portal: the sites that may frame it, and the origin of its logo. */
export interface Framing {
  /** Origins whose pages may frame the portal. */
  ancestors: readonly string[];
  /** The origin of the logo, if it differs from the service's. */
  images: string | undefined;
}

/**
 * Serves the dashboard: its page at each of its paths, and its files below `/assets/`. The content security policy lets the page
 * load only from this origin.
 *
 * @returns false when the dashboard was not built, so that only the interface is served.
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
  // A path without a route or a page is answered with a page for browsers, and with JSON for programs.
  const sendNothing = (request: FastifyRequest, reply: FastifyReply): unknown =>
    wantsPage(request) ? answerPage(reply, 404, page()) : reply.callNotFound();
  app.get("/*", sendNothing);
  addFiles(app, folder, sendNothing);
  return true;
}

/**
 * Serves the built files, except the page itself. All files below `/assets/` share one route: one route per file, as the plugin
 * adds them, took a fifth of the CPU time of a start.
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
        // The names of built files contain a hash of their content.
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

/** Pattern of the names of built files. */
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
 * The paths of the portal for an organization's customers, which is the same page. The path names the organization, because the
 * request has no other sign of it, and the sites that may frame the page depend on the organization.
 */
export const portalPaths = ["/portal/:org_id", "/portal/:org_id/*"];

/** Whether there is a page to serve. */
export function isDashboardBuilt(): boolean {
  return builtFolder() !== undefined;
}

/** The folder of the build: beside the server in a checkout, or inside a published package; undefined if there is none. */
function builtFolder(): string | undefined {
  return ["../../../dashboard/dist", "../../dashboard"]
    .map((path) => join(import.meta.dirname, path))
    .find((folder) => existsSync(join(folder, "index.html")));
}

/**
 * The page with absolute addresses in place of relative ones, so that they are valid at every depth of its paths, and with a
 * setting that it needs before anyone signs in (`dashboard/src/signIn/SignInPage.tsx`). The file is read again when it has changed: an
 * upgrade replaces it while the service runs, and removes the files that the old page names.
 */
function pageBelow(file: string, prefix: string, sendsMail: boolean): () => string {
  const safe = prefix.replaceAll("&", "&amp;");
  const read = (): string => {
    const page = readFileSync(file, "utf8").replaceAll(/\b(src|href)="\.\//g, `$1="${safe}/`);
    return sendsMail
      ? page.replace("</head>", '<meta name="postrider-sends-mail" content="yes" /></head>')
      : page;
  };
  // By ctime, because packages give all their files the same mtime.
  const changedAtMs = (): number | undefined => statSync(file, { throwIfNoEntry: false })?.ctimeMs;
  let known = { page: read(), atMs: changedAtMs() };
  return () => {
    const atMs = changedAtMs();
    if (atMs !== undefined && atMs !== known.atMs) known = { page: read(), atMs };
    return known.page;
  };
}

/** Only content from this origin, and nothing inline. No `upgrade-insecure-requests`: over plain http the page would be blank. */
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

/** Whether a browser navigates to the path, in contrast to a program that calls the interface. */
function wantsPage({ url, headers }: FastifyRequest): boolean {
  return !url.startsWith("/api/") && (headers.accept ?? "").includes("text/html");
}
