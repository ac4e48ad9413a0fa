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
import { readUser } from "./userStore.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<AuthDeps>("Account");

export interface AuthDeps extends SignUpDeps, ResetDeps {
  config: Pick<Config, "billing" | "signup" | "signupLimit" | "loginLimit">;
}

const ApiKey = Type.String({ pattern: "^ak_live_[0-9a-f]{64}$", description: "Shown once" });

const countsRequests =
  "Requests with a valid body are counted per client address in windows of 15 minutes, whatever their outcome. `RateLimit` and `RateLimit-Policy` show how many are left; 429 carries `Retry-After`.";
const needsEmailAndPassword = "email and password are required";

const logoutRoute = route("logOut", "POST /api/v1/auth/logout", {
  access: users("viewer"),
  audit: "session.ended",
  summary: "End the session that the request carries",
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
  summary: "End every session of the user",
  description:
    "With an API key, which belongs to no user, every session of every user of the organization ends.",
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
  summary: "Read the caller: the user of a session, or the organization of an API key",
  response: {
    200: Type.Object({ user: Type.Union([User, Type.Object({ org_id: Id })]) }),
  },
  async handle({ caller }, deps) {
    if (caller.kind !== "session") return { user: { org_id: caller.orgId } };
    const user = await readUser(deps.pool, caller.userId);
    if (user === undefined) throw unauthorized();
    return { user };
  },
});

const closedToStrangers = "Signup is not open to everybody here (`signup_closed`)";

/** @throws {ApiError} 403 when a new account needs an invitation or an operator. */
function refuseStrangers(signup: Config["signup"]): void {
  if (signup === "open") return;
  const way =
    signup === "invited" ? "ask a member to invite you" : "ask the operator of this service for one";
  throw new ApiError(
    403,
    `signup is not open to everybody here (POSTRIDER_SIGNUP=${signup}): ${way}`,
    "signup_closed",
  );
}

const signupRoute = route("signUp", "POST /api/v1/auth/signup", {
  access: anyone,
  audit: "organization.created",
  summary: "Create an account with an organization, a default API key and a session",
  description: `A taken email is answered with \`message\` only, after as long, so that nobody learns who has an account. While live billing is on there is no \`api_key\`: the workspace is pending. ${countsRequests}`,
  body: Type.Object({
    email: Email,
    password: Type.String(Password),
    name: Type.Optional(
      lineOfText({ maxLength: 256, description: "The local part of the email unless given" }),
    ),
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
  summary: "Start a session; a user's oldest beyond five ends",
  description: countsRequests,
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
  summary: "Change the user's password; every other session of the user ends",
  description: "Counted per user in windows of 15 minutes, as logins are per address.",
  body: Type.Object({
    current_password: Type.String({ maxLength: Password.maxLength }),
    new_password: Type.String(Password),
  }),
  response: { 200: Type.Object({ ok: Type.Literal(true) }) },
  errors: {
    401: "No session, or one that has ended meanwhile",
    403: "The current password is wrong (`password_wrong`), or the request carries an API key",
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
