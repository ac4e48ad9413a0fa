import { Type } from "typebox";
import { traceOf } from "../audit/origin.ts";
import type { Config } from "../config/config.ts";
import { anyone } from "../http/contract/access.ts";
import { ApiError, orInvalid, orRefused, tooManySigningIn } from "../http/contract/errors.ts";
import { routesOf } from "../http/contract/route.ts";
import { textOf } from "../http/contract/textForms.ts";
import type { Mailer } from "../mail/mailer.ts";
import type { PasswordDeps } from "./changePassword.ts";
import { readEmail } from "./emailAddress.ts";
import { countRequest } from "./rateLimit.ts";
import { prepareResetMail, resetByToken } from "./resetByMail.ts";
import { resetMinutes } from "./resetStore.ts";
import { Email, overloaded, Password, tooMany } from "./schemas.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<ResetDeps>("Account");

export interface ResetDeps extends PasswordDeps {
  config: Pick<Config, "loginLimit">;
  /** Absent when the operator has configured no mail server. */
  mailer?: Mailer | undefined;
}

/** The same answer whether or not the address has an account. */
const neutralMessage =
  "If this address has an account, it will receive an email with a link to reset the password.";

const requestRoute = route("requestPasswordReset", "POST /api/v1/auth/password-reset", {
  access: anyone,
  audit: {
    none: "the response is sent before the account is looked up; the email is recorded as password.reset_requested",
  },
  summary: "Request an email with a link to reset a forgotten password",
  description: `The response is sent before the account is looked up, so that nobody can find out who has an account. The link works once, and expires after ${resetMinutes} minutes or when a newer link is requested. Rate limited per client address and per email in windows of 15 minutes, with the same limit as logins. The status is 501 if the operator has not configured a mail server.`,
  body: Type.Object({ email: Email }),
  response: { 200: Type.Object({ message: Type.String() }) },
  errors: {
    429: "Too many requests from this address, or for this email",
    501: "The service has no mail server (`mail_disabled`): the operator can reset the password with a command",
    503: "Too many emails are waiting to be sent, or the database cannot be reached",
  },
  examples: examples.requestPasswordReset,
  async handle(call, deps) {
    const { key: emailKey } = orInvalid(readEmail(call.body.email));
    const { mailer } = deps;
    if (mailer === undefined) throw mailDisabled();
    const limit = deps.config.loginLimit;
    await countRequest(deps.pool, { scope: "password-reset", limit }, call);
    await countRequest(deps.pool, { scope: "password-reset-email", limit, emailKey }, call);
    const { publicUrl } = mailer;
    const trace = traceOf(call.request);
    mailer.enqueue(() => prepareResetMail(deps.pool, { emailKey, publicUrl }, trace));
    return { message: neutralMessage };
  },
});

const confirmRoute = route("confirmPasswordReset", "POST /api/v1/auth/password-reset/confirm", {
  access: anyone,
  audit: "password.reset",
  summary: "Set a new password with the token of a reset link",
  description:
    "Ends all sessions of the user and starts none: log in with the new password. API keys stay valid. Rate limited per client address, as logins are.",
  body: Type.Object({
    token: textOf("resetToken"),
    password: Type.String(Password),
  }),
  response: { 200: Type.Object({ ok: Type.Literal(true) }) },
  errors: {
    410: "The link is unknown, was already used, was replaced by a newer link, or has expired (`reset_gone`)",
    429: tooMany,
    503: overloaded,
  },
  examples: examples.confirmPasswordReset,
  async handle(call, deps) {
    if (deps.passwords.isFull()) throw tooManySigningIn();
    await countRequest(deps.pool, { scope: "password-reset-confirm", limit: deps.config.loginLimit }, call);
    const input = { token: call.body.token, wanted: call.body.password };
    orRefused(await resetByToken(deps, input, traceOf(call.request)), "reset", {
      // The same message for every link that does not work.
      gone: () =>
        new ApiError(
          410,
          "the link was already used, was replaced by a newer link, or has expired: request a new link",
          "reset_gone",
        ),
      overloaded: tooManySigningIn,
    });
    return { ok: true };
  },
});

function mailDisabled(): ApiError {
  return new ApiError(
    501,
    "this service has no mail server: ask its operator to reset the password (postrider reset-password)",
    "mail_disabled",
  );
}

/** Routes for a forgotten password: requesting the mailed link, and setting a new password with the link's token. */
export const resetRoutes = [requestRoute, confirmRoute];
