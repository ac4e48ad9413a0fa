import { describe, expect } from "vitest";
import { deleteExpired } from "../src/process/chores.ts";
import { entries, entriesOfNobody } from "./support/auditLog.ts";
import { file, nodeTest } from "./support/fixtures.ts";
import { type MailServer, type ReceivedMail, startMailServer, tokenOf } from "./support/mailServer.ts";
import { join } from "./support/members.ts";
import {
  type Account,
  type Answer,
  createTestNode,
  isAccepted,
  newEmail,
  refusal,
  signUp,
  type TestNode,
} from "./support/testNode.ts";
import { until } from "./support/until.ts";
import { placesOfText } from "./support/placesOfText.ts";
import { makeOlder, secondsLeft } from "./support/passedTime.ts";

const publicUrl = "https://postrider.example.com/hooks";
const wanted = "a new horse with staples";

type Owner = Pick<Account, "user">;

const it = nodeTest()
  .extend("mailServer", file, async ({}, { onCleanup }) => {
    const server = await startMailServer();
    onCleanup(() => server.stop());
    return server;
  })
  .extend("settings", file, ({ mailServer }) => mailSettings(mailServer))
  .extend(
    "ask",
    file,
    ({ node }) =>
      (email: string, on: TestNode = node, from?: string): Promise<Answer> =>
        on.call("POST", "/api/v1/auth/password-reset", { body: { email }, ...(from && { from }) }),
  )
  .extend(
    "mailsTo",
    file,
    ({ mailServer }) =>
      ({ user }: Owner, count: number = 1): Promise<ReceivedMail[]> =>
        until(
          () => mailServer.mails.filter(({ to }) => to.includes(user.email)),
          (mails) => mails.length >= count,
        ),
  )
  .extend("confirm", file, ({ node }) => (token: string, password: string = wanted): Promise<Answer> => {
    return node.call("POST", "/api/v1/auth/password-reset/confirm", { body: { token, password } });
  })
  .extend("logIn", file, ({ node }) => ({ user }: Owner, password: string) => {
    return node.call("POST", "/api/v1/auth/login", { body: { email: user.email, password } });
  })
  .extend("tokenFor", file, ({ ask, mailsTo }) => async (account: Owner): Promise<string> => {
    await ask(account.user.email);
    return tokenOf((await mailsTo(account))[0]!);
  })
  .extend("token", ({ own, tokenFor }) => tokenFor(own.account));

function mailSettings({ port }: MailServer): Record<string, string> {
  return {
    POSTRIDER_SMTP_URL: `smtp://127.0.0.1:${port}?tls=off`,
    POSTRIDER_MAIL_FROM: "Postrider <postrider@example.com>",
    POSTRIDER_PUBLIC_URL: publicUrl,
  };
}

const gone = { status: 410, headers: { "x-error-code": "reset_gone" } };

describe("an address that has an account", () => {
  it("gets one mail, whose link sets the password and ends every session but keeps the keys", async ({
    own: { account },
    node,
    other,
    ask,
    mailsTo,
    confirm,
    logIn,
  }) => {
    const colleague = await join(node, account, "viewer");
    const second = (await logIn(account, account.password)).body.session_token;
    const asked = await ask(account.user.email.toUpperCase());
    expect([asked.status, asked.body]).toEqual([
      200,
      {
        message:
          "If this address has an account, it will receive an email with a link to reset the password.",
      },
    ]);
    const [mail, ...more] = await mailsTo(account);
    expect(more).toEqual([]);
    const done = await confirm(tokenOf(mail!));
    expect([done.status, done.body]).toEqual([200, { ok: true }]);
    for (const session of [account.session_token, second]) {
      expect(await isAccepted(other, { session })).toBe(false);
    }
    expect(await isAccepted(other, { session: colleague.session_token })).toBe(true);
    expect(await isAccepted(other, { key: account.api_key })).toBe(true);
    expect((await logIn(account, account.password)).status).toBe(401);
    expect((await logIn(account, wanted)).status).toBe(200);
  });

  it("gets it in plain text and HTML with the same content, from the operator's address, without information about the requester", async ({
    own: { account },
    ask,
    node,
    mailsTo,
  }) => {
    await ask(account.user.email, node, "203.0.113.77");
    const mail = (await mailsTo(account))[0]!;
    expect(mail).toMatchObject({
      to: [account.user.email],
      sender: "postrider@example.com",
      subject: "Reset your Postrider password",
      headers: {
        from: "Postrider <postrider@example.com>",
        to: account.user.email,
        "auto-submitted": "auto-generated",
      },
    });
    const link = `${publicUrl}/reset#token=${tokenOf(mail)}`;
    for (const said of [mail.text, mail.html]) {
      expect(said).toContain(account.user.email);
      expect(said).toContain(link);
      expect(said).toContain("after 30 minutes");
      expect(said).toContain("If you did not request this email");
      expect(said).not.toContain("203.0.113.77");
    }
    expect(mail.html).toContain(`<a href="${link}">`);
  });

  it("has audit entries for both steps, without the token", async ({
    own: { account },
    node,
    token,
    confirm,
  }) => {
    await confirm(token);
    const about = { kind: "user", id: account.user.id, name: account.user.email };
    const [reset, requested] = await entries(node, account);
    expect(requested).toMatchObject({
      action: "password.reset_requested",
      actor: { kind: "unknown", id: null, name: null },
      object: about,
      client_address: "127.0.0.1",
    });
    expect(reset).toMatchObject({ action: "password.reset", actor: about, object: about });
    expect(reset!.after).toEqual({ sessions_ended: 1 });
    expect(await placesOfText(node.pool, token.slice("rst_".length))).toEqual([]);
  });

  it("gets the mail at the stored spelling, not at the spelling of the request", async ({
    node,
    ask,
    mailsTo,
  }) => {
    const account = await signUp(node, `kiosk-${newEmail()}`);
    // The Kelvin sign is a k in lower case, but a different mailbox for a mail server.
    const asked = await ask(account.user.email.replace("k", "\u212a"));
    expect(asked.status).toBe(200);
    expect((await mailsTo(account))[0]!.to).toEqual([account.user.email]);
  });

  it("is a single recipient, whatever characters it contains", async ({ node, ask, mailServer }) => {
    const account = await signUp(node, `one,two-${newEmail()}`);
    await ask(account.user.email);
    const [mail] = await until(
      () => mailServer.mails.filter(({ text }) => text.includes(account.user.email)),
      (mails) => mails.length > 0,
    );
    expect(mail!.to).toEqual([expect.stringContaining("one,two-")]);
  });
});

describe("an address that has no account", () => {
  it("gets the same answer but no mail, and is not stored", async ({
    own: { account },
    node,
    ask,
    mailServer,
  }) => {
    const stranger = newEmail();
    const answers = [await ask(account.user.email), await ask(stranger)];
    const [known, unknown] = answers.map(({ status, body, headers }) => ({
      status,
      body,
      // Without the values that differ with each request.
      headers: Object.keys(headers).filter((name) => headers[name] !== undefined),
    }));
    expect(unknown).toEqual(known);
    // Its audit entry is written at the moment when the mail would have been created.
    const nobodys = await until(
      () => entriesOfNobody(node.pool, { action: "password.reset_requested" }),
      (found) => found.length > 0,
    );
    expect(nobodys).toMatchObject([{ object_id: null, object_name: null }]);
    await until(
      () => mailServer.mails,
      (mails) => mails.some(({ to }) => to.includes(account.user.email)),
    );
    expect(mailServer.mails.filter(({ to }) => to.includes(stranger))).toEqual([]);
    expect(await placesOfText(node.pool, "@")).not.toContain("rate_limits.subject");
  });
});

describe("a link", () => {
  it("works once, also when it is used twice simultaneously", async ({
    own: { account },
    token,
    confirm,
    logIn,
  }) => {
    const answers = await Promise.all([confirm(token), confirm(token, "another new horse")]);
    expect(answers.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 410]));
    expect(await confirm(token)).toMatchObject(gone);
    const isFirst = answers[0].status === 200;
    expect((await logIn(account, isFirst ? wanted : "another new horse")).status).toBe(200);
  });

  it("works for thirty minutes on the database's clock, and is deleted afterwards", async ({
    own: { account },
    node,
    token,
    confirm,
    logIn,
  }) => {
    const own = { user_id: account.user.id };
    const left = await secondsLeft(node.pool, "password_resets", own);
    expect(left).toBeGreaterThan(1700);
    expect(left).toBeLessThanOrEqual(1800);
    await deleteExpired(node.pool, ["password_resets"]);
    await makeOlder(node.pool, 1801, "password_resets", own);
    expect(await confirm(token)).toMatchObject(gone);
    expect((await logIn(account, account.password)).status).toBe(200);
    expect(await deleteExpired(node.pool, ["password_resets"])).toBe(1);
  });

  it("becomes invalid when a newer one is sent", async ({
    own: { account },
    ask,
    mailsTo,
    tokenFor,
    confirm,
  }) => {
    const first = await tokenFor(account);
    await ask(account.user.email);
    const newer = (await mailsTo(account, 2)).map(tokenOf).find((token) => token !== first)!;
    expect(await confirm(first)).toMatchObject(gone);
    expect((await confirm(newer)).status).toBe(200);
  });

  it("becomes invalid when the password is changed in another way", async ({
    own: { account },
    node,
    token,
    confirm,
    logIn,
  }) => {
    const { status } = await node.call("POST", "/api/v1/auth/password", {
      session: account.session_token,
      body: { current_password: account.password, new_password: "changed in between" },
    });
    expect(status).toBe(200);
    expect(await confirm(token)).toMatchObject(gone);
    expect((await logIn(account, "changed in between")).status).toBe(200);
  });

  it("becomes invalid when its user is deleted", async ({ own: { account }, node, tokenFor, confirm }) => {
    const member = await join(node, account, "member");
    const token = await tokenFor(member);
    const removed = await node.call("DELETE", `/api/v1/members/${member.user.id}`, {
      session: account.session_token,
    });
    expect(removed.status).toBe(200);
    expect(await confirm(token)).toMatchObject(gone);
  });

  it("stays valid after a refused password", async ({ token, confirm }) => {
    for (const [password, message] of [
      ["short", "password must be at least 8 characters"],
      ["x".repeat(129), "password must be at most 128 characters"],
    ] as const) {
      expect(await confirm(token, password)).toMatchObject(refusal(400, message));
    }
    expect((await confirm(token)).status).toBe(200);
  });

  it("that was never sent is unknown", async ({ confirm }) => {
    expect(await confirm(`rst_${"0".repeat(64)}`)).toMatchObject(gone);
    expect((await confirm("rst_0")).status).toBe(400);
  });
});

describe("requesting a reset", () => {
  const limited = { POSTRIDER_LOGIN_LIMIT: "3" };

  it("is limited per client address, over all nodes", async ({ newNode, ask }) => {
    const [one, two] = [newNode(limited), newNode(limited)];
    const from = "203.0.113.1";
    const answers: Answer[] = [];
    for (const on of [one, two, one, two]) answers.push(await ask(newEmail(), on, from));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers[0]!.headers["ratelimit"]).toMatch(
      /^"password-reset";r=2;t=\d+, "password-reset-email";r=2;t=\d+$/,
    );
    expect(answers[3]!.headers["retry-after"]).toMatch(/^(900|89\d)$/);
    expect((await ask(newEmail(), one, "203.0.113.2")).status).toBe(200);
  });

  it("is limited per email address in any spelling, with or without an account", async ({
    own: { account },
    newNode,
    ask,
  }) => {
    const node = newNode(limited);
    let client = 0;
    for (const email of [account.user.email, newEmail()]) {
      const statuses: number[] = [];
      for (const written of [email, email.toUpperCase(), ` ${email}`, email]) {
        client += 1;
        statuses.push((await ask(written, node, `203.0.114.${client}`)).status);
      }
      expect(statuses).toEqual([200, 200, 200, 429]);
    }
  });

  it("is limited for the use of links, too", async ({ newNode }) => {
    const node = newNode(limited);
    const body = { token: `rst_${"0".repeat(64)}`, password: wanted };
    const statuses: number[] = [];
    for (let index = 0; index < 4; index++) {
      const from = "203.0.115.1";
      statuses.push((await node.call("POST", "/api/v1/auth/password-reset/confirm", { body, from })).status);
    }
    expect(statuses).toEqual([410, 410, 410, 429]);
  });

  it("is refused with instructions when there is no mail server, and does not count toward the limit", async ({
    database,
    ask,
  }) => {
    const node = createTestNode(database, { POSTRIDER_LOGIN_LIMIT: "1" });
    try {
      for (let index = 0; index < 2; index++) {
        expect(await ask(newEmail(), node, "203.0.116.1")).toMatchObject({
          status: 501,
          body: { error: expect.stringContaining("postrider reset-password") },
          headers: { "x-error-code": "mail_disabled" },
        });
      }
    } finally {
      await node.stop();
    }
  });

  it("is refused for an invalid address", async ({ ask }) => {
    expect((await ask("nobody")).status).toBe(400);
  });
});
