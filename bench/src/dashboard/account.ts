import { openPage } from "../../../dashboard/test/support/browser.ts";
import { host } from "../workload.ts";
import type { Browser, Page } from "./watchPage.ts";

/** A page with a signed-in user, and a key of their organization. */
export interface Visitor {
  key: string;
  page: Page;
}

/** Signs a user up and opens a page with their session. */
export async function visitor(browser: Browser, port: number): Promise<Visitor> {
  const origin = `http://${host}:${port}`;
  const email = `bench-${Date.now()}@example.com`;
  const answer = await fetch(`${origin}/api/v1/auth/signup`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password: "correct horse battery" }),
  });
  if (!answer.ok) throw new Error(`signing up was answered with ${answer.status}`);
  const { api_key: key, session_token: token } = (await answer.json()) as Record<string, string>;
  const { page, context } = await openPage(browser, origin, { width: 1440 });
  const session = JSON.stringify(JSON.stringify({ token, email }));
  await context.addInitScript(
    `if (location.protocol === "http:") sessionStorage.setItem("postrider.session", ${session})`,
  );
  return { key: key!, page };
}
