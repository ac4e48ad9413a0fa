import { afterAll, beforeAll, expect, it } from "vitest";
import { type MailServer, type ReceivedMail, startMailServer } from "../../server/test/support/mailServer.ts";
import { newEmail } from "../../server/test/support/testNode.ts";
import { until } from "../../server/test/support/until.ts";
import { tabTo, untilFocused } from "./support/browser.ts";
import { type Dashboard, startDashboard } from "./support/dashboard.ts";

let dashboard: Dashboard;
let mailServer: MailServer;

beforeAll(async () => {
  mailServer = await startMailServer();
  dashboard = await startDashboard({
    POSTRIDER_SMTP_URL: `smtp://127.0.0.1:${mailServer.port}?tls=off`,
    POSTRIDER_MAIL_FROM: "Postrider <postrider@example.com>",
    POSTRIDER_PUBLIC_URL: "https://example.com/hooks",
  });
});

afterAll(async () => {
  await dashboard.stop();
  await mailServer.stop();
});

/** The path of the mailed link, to open at the service's own port. */
function pathOf(mail: ReceivedMail): string {
  const link = /https:\/\/example\.com(\/hooks\/reset#token=\w+)/.exec(mail.text)?.[1];
  if (link === undefined) throw new Error(`no link in: ${mail.text}`);
  return link;
}

function mailsTo(email: string, count: number): Promise<ReceivedMail[]> {
  return until(
    () => mailServer.mails.filter(({ to }) => to.includes(email)),
    (mails) => mails.length >= count,
  );
}

it("sets a new password once, by keyboard alone: from the sign-in page through the mailed link", async () => {
  const { user } = await dashboard.newAccount();
  const { page, problems } = await dashboard.open();
  const paths: string[] = [];
  page.on("request", (request) => paths.push(request.url()));
  await page.goto("/hooks/sign-in");
  await tabTo(page, page.getByRole("link", { name: "Forgot password?" }));
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Forgot password" }).waitFor();
  await tabTo(page, page.getByLabel("Email"));
  await page.keyboard.type(user.email);
  await page.keyboard.press("Enter");
  await page.getByText("If this address has an account, it will receive an email").waitFor();
  const [replaced] = await mailsTo(user.email, 1);
  await page.getByRole("button", { name: "Send the link" }).click();
  const [, works] = await mailsTo(user.email, 2);

  // First the replaced link, then, on the same page, the link that works.
  await page.goto(pathOf(replaced!));
  await page.getByLabel("New password").fill("a new horse with staples");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "This link does not work" }).waitFor();
  await page.goto(pathOf(works!));
  await tabTo(page, page.getByLabel("New password"));
  // The token is not in the browser's history.
  await expect.poll(() => page.url()).not.toContain("rst_");
  await page.keyboard.type("a new horse with staples");
  await page.keyboard.press("Enter");
  await untilFocused(page, "Password set");
  await tabTo(page, page.getByRole("link", { name: "Sign in" }));
  await page.keyboard.press("Enter");
  await page.getByLabel("Email").fill(user.email);
  await page.getByLabel("Password").fill("a new horse with staples");
  await page.keyboard.press("Enter");
  // The overview redirects to the first steps, because the organization has no targets.
  await page.getByRole("heading", { name: "Get started" }).waitFor();

  await page.goto(pathOf(works!));
  await page.getByLabel("New password").fill("another horse with staples");
  await page.keyboard.press("Enter");
  await page.getByText("The link was used or replaced by a newer one").waitFor();
  await page.getByRole("link", { name: "Request another link" }).click();
  await page.getByRole("heading", { name: "Forgot password" }).waitFor();
  // No request has a token in its path, so neither the service nor a proxy in front of it can log one.
  expect(paths.filter((path) => path.includes("rst_") && !path.includes("#"))).toEqual([]);
  expect(problems).toEqual([]);
});

it("shows the same answer for an email without an account", async () => {
  const { page, problems } = await dashboard.open();
  await page.goto("/hooks/forgot-password");
  await page.getByLabel("Email").fill(newEmail());
  await page.getByRole("button", { name: "Send the link" }).click();
  await page.getByText("If this address has an account, it will receive an email").waitFor();
  expect(problems).toEqual([]);
});

it("offers no reset without a mail server, and refers users who open the page to the operator", async () => {
  const without = await startDashboard();
  try {
    const { page, problems } = await without.open();
    await page.goto("/sign-in");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    expect(await page.getByRole("link", { name: "Forgot password?" }).count()).toBe(0);
    await page.goto("/forgot-password");
    await page.getByLabel("Email").fill(newEmail());
    await page.getByRole("button", { name: "Send the link" }).click();
    await page.getByText("This service has no mail server: ask its operator").waitFor();
    expect(problems).toEqual([]);
  } finally {
    await without.stop();
  }
});
