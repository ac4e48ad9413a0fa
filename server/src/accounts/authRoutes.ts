import { Type } from "typebox";
import type { Config } from "../config/config.ts";
import { anyone, users, usersAndKeys } from "../http/contract/access.ts";
import { ApiError, orInvalid, orRefused, tooManySigningIn, unauthorized } from "../http/contract/errors.ts";
import { lineOfText } from "../http/contract/plainText.ts";
import { routesOf } from "../http/contract/route.ts";
import { everyKey, noLimitedKey } from "../http/contract/scope.ts";
import { Id } from "../http/contract/schemas.ts";
import { originOf, traceOf } from "../audit/origin.ts";
import { changePassword } from "./changePassword.ts";
import { readEmail } from "./emailAddress.ts";
import { logIn } from "./logIn.ts";
import { countRequest } from "./rateLimit.ts";
import { Email, overloaded, Password, takenMessage, tooMany, User } from "./schemas.ts";
import { type ResetDeps, resetRoutes } from "./resetRoutes.ts";
import { logOut, logOutAll } from "./sessionStore.ts";
import { signUp, type SignUpDeps } from "./signUp.ts";
import { findUser } from "./userStore.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<AuthDeps>("Account");

export interface AuthDeps extends SignUpDeps, ResetDeps {
  config: Pick<Config, "billing" | "signup" | "signupLimit" | "loginLimit">;
}

const ApiKey = Type.String({ pattern: "^ak_live_[0-9a-f]{64}$", description: "Shown once" });

const countsRequests =
  "Rate limited per client address, in windows of 15 minutes. Every request with a valid body counts, whether it succeeds or fails. The headers `RateLimit` and `RateLimit-Policy` show how many requests are left; a 429 response has `Retry-After`.";
const needsEmailAndPassword = "email and password are required";

const logoutRoute = route("logOut", "POST /api/v1/auth/logout", {
  access: users("viewer"),
  audit: "session.ended",
  summary: "Log out: end the current session",
  response: { 200: Type.Object({ ok: Type.Literal(true) }) },
  async handle(call, deps) {
    const { caller } = call;
    if (caller.kind === "session") await logOut(deps.pool, originOf(call), caller);
    return { ok: true };
  },
});

const logoutAllRoute = route("logOutAll", "POST /api/v1/auth/logout-all", {
  access: usersAndKeys("viewer", noLimitedKey),
  audit: "sessions.ended",
  summary: "End all sessions of the user",
  description:
    "With an API key, which belongs to no user, the request ends all sessions of all users of the organization.",
  response: {
    200: Type.Object({ ok: Type.Literal(true), sessions_revoked: Type.Literal(true) }),
  },
  async handle(call, deps) {
    await logOutAll(deps.pool, originOf(call), call.caller);
    return { ok: true, sessions_revoked: true };
  },
});

const meRoute = route("readMe", "GET /api/v1/auth/me", {
  access: usersAndKeys("viewer", everyKey),
  summary: "Read the user of a session, or the organization of an API key",
  response: {
    200: Type.Object({ user: Type.Union([User, Type.Object({ org_id: Id })]) }),
  },
  async handle({ caller }, deps) {
    if (caller.kind !== "session") return { user: { org_id: caller.orgId } };
    const found = await findUser(deps.pool, "id", caller.userId);
    if (found === undefined) throw unauthorized();
    return { user: found.user };
  },
});

const closedToStrangers = "Signup needs an invitation, or is closed (`signup_closed`)";

/** @throws {ApiError} 403 when a new account needs an invitation or an operator. */
function refuseStrangers(signup: Config["signup"]): void {
  if (signup === "open") return;
  const reason =
    signup === "invited"
      ? "needs an invitation (POSTRIDER_SIGNUP=invited): ask a member of an organization to invite you"
      : "is closed (POSTRIDER_SIGNUP=closed): ask the operator of this service for an account";
  throw new ApiError(403, `signup ${reason}`, "signup_closed");
}

const signupRoute = route("signUp", "POST /api/v1/auth/signup", {
  access: anyone,
  audit: "organization.created",
  summary: "Create an account with an organization, a default API key and a session",
  description: `If the email already has an account, the response has only \`message\`, and takes as long as a successful signup, so that nobody can find out who has an account. While live billing is enabled, the response has no \`api_key\`, because the new organization is pending. ${countsRequests}`,
  body: Type.Object({
    email: Email,
    password: Type.String(Password),
    name: Type.Optional(lineOfText({ maxLength: 256, description: "Default: the local part of the email" })),
  }),
  response: {
    200: Type.Union([
      Type.Object({ user: User, session_token: Type.String(), api_key: Type.Optional(ApiKey) }),
      Type.Object({ message: Type.String() }),
    ]),
  },
  errors: { 403: closedToStrangers, 429: tooMany, 503: overloaded },
  examples: examples.signUp,
  async handle(call, deps) {
    const { body } = call;
    const address = orInvalid(readEmail(body.email));
    refuseStrangers(deps.config.signup);
    if (deps.passwords.isFull()) throw tooManySigningIn();
    await countRequest(deps.pool, { scope: "signup", limit: deps.config.signupLimit }, call);
    const input = { address, password: body.password, name: body.name };
    const signedUp = await signUp(deps, input, traceOf(call.request));
    if (signedUp.outcome === "email_taken") return { message: takenMessage };
    const { user, sessionToken, apiKey } = orRefused(signedUp, "created", { overloaded: tooManySigningIn });
    return { user, session_token: sessionToken, ...(apiKey !== undefined && { api_key: apiKey }) };
  },
});

const loginRoute = route("logIn", "POST /api/v1/auth/login", {
  access: anyone,
  audit: "session.started",
  summary: "Log in: start a session",
  description: `A user has at most five sessions: a login beyond this limit ends the oldest session. ${countsRequests}`,
  body: Type.Object({ email: Email, password: Type.String({ maxLength: Password.maxLength }) }),
  response: { 200: Type.Object({ user: User, session_token: Type.String() }) },
  errors: { 401: "The email has no account, or the password is wrong", 429: tooMany, 503: overloaded },
  examples: examples.logIn,
  missingFields: needsEmailAndPassword,
  async handle(call, deps) {
    const { body } = call;
    if (body.email.trim() === "" || body.password === "") throw new ApiError(400, needsEmailAndPassword);
    if (deps.passwords.isFull()) throw tooManySigningIn();
    await countRequest(deps.pool, { scope: "login", limit: deps.config.loginLimit }, call);
    const loggedIn = await logIn(deps, body, traceOf(call.request));
    const refusals = { refused: unauthorized, overloaded: tooManySigningIn };
    const { user, sessionToken } = orRefused(loggedIn, "started", refusals);
    return { user, session_token: sessionToken };
  },
});

const passwordRoute = route("changePassword", "POST /api/v1/auth/password", {
  access: users("viewer"),
  audit: "password.changed",
  summary: "Change the password of the user",
  description:
    "Ends every other session of the user. Rate limited per user in windows of 15 minutes, with the same limit as logins.",
  body: Type.Object({
    current_password: Type.String({ maxLength: Password.maxLength }),
    new_password: Type.String(Password),
  }),
  response: { 200: Type.Object({ ok: Type.Literal(true) }) },
  errors: {
    401: "The session token is missing or invalid, or the session has ended",
    403: "The current password is wrong (`password_wrong`), or the request has an API key instead of a session token",
    429: "Too many requests by this user",
    503: overloaded,
  },
  examples: examples.changePassword,
  async handle(call, deps) {
    const { body, caller } = call;
    if (caller.kind !== "session") throw unauthorized();
    const { userId, tokenHash } = caller;
    if (deps.passwords.isFull()) throw tooManySigningIn();
    await countRequest(deps.pool, { scope: "password", limit: deps.config.loginLimit, userId }, call);
    const input = { userId, tokenHash, present: body.current_password, wanted: body.new_password };
    orRefused(await changePassword(deps, originOf(call), input), "changed", {
      wrong_password: () => new ApiError(403, "current_password is wrong", "password_wrong"),
      gone: unauthorized,
      overloaded: tooManySigningIn,
    });
    return { ok: true };
  },
});

/** Signup, login, logout, the password, and the caller's own user. */
export const authRoutes = [
  signupRoute,
  loginRoute,
  logoutRoute,
  logoutAllRoute,
  passwordRoute,
  ...resetRoutes,
  meRoute,
];
