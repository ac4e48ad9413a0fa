import { useSyncExternalStore } from "react";
import { createListeners } from "./listeners.ts";
import { isAnythingTyped } from "./typedForms.ts";
import { portalOrganization } from "./portal.ts";

/** The session of this page. Its token is sent in a header only, never in a URL. */
export interface Session {
  token: string;
  email: string;
}

/** A portal stores its session under a key of its own, apart from the session of a signed-in user. */
const isPortal = portalOrganization !== undefined;
const key = isPortal ? `postrider.portal.${portalOrganization}` : "postrider.session";
const keptPrefix = `${key}.kept.`;
const { subscribe, tell } = createListeners<[isSameUser: boolean]>();
let current = read();
/** A session that ended while the page had unsaved input; its user is asked to sign in again. */
let lost: Session | undefined;

export function currentSession(): Session | undefined {
  return current;
}

/** Signs this tab in; `stay` also keeps the session for other tabs and the next visit. */
export function startSession(session: Session, stay: boolean): void {
  const isSameUser = lost?.email === session.email;
  forget();
  store(stay ? "localStorage" : "sessionStorage", JSON.stringify(session));
  lost = undefined;
  current = session;
  tell(isSameUser);
}

/** Signs this tab out. */
export function endSession(): void {
  forget();
  lost = undefined;
  current = undefined;
  tell(false);
}

/** Drops a session that the service has ended. A page with unsaved input stays open until its user signs in again. */
export function loseSession(): void {
  const stored = readTab();
  // Back restored this page from the browser's cache, and another user has signed in in this tab since.
  if (stored !== undefined && stored.token !== current?.token) return location.reload();
  if (isPortal || !isAnythingTyped()) return endSession();
  forget();
  lost = current;
  current = undefined;
  tell(true);
}

export function useSession(): Session | undefined {
  return useSyncExternalStore(subscribe, currentSession);
}

/** The session whose user has to sign in again on this page. */
export function useLostSession(): Session | undefined {
  return useSyncExternalStore(subscribe, () => lost);
}

/** Calls a listener when a user signs in or out on this page, and tells it whether the user stays the same. */
export const subscribeSession = subscribe;

/** Stores a value of this user in this tab. It survives reloads and ends with the session. */
export function keepForSession(name: string, value: unknown): void {
  store("sessionStorage", JSON.stringify(value), keptName(name));
}

/** The value that this user stored under this name, or undefined. */
export function keptForSession(name: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(keptName(name)) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** The name contains the user's email: a reload uses the session that another tab stored, which may be another user's. */
function keptName(name: string): string {
  return `${keptPrefix}${current?.email ?? ""} ${name}`;
}

function read(): Session | undefined {
  try {
    return readTab() ?? (isPortal ? undefined : sessionIn(localStorage.getItem(key)));
  } catch {
    return undefined;
  }
}

function readTab(): Session | undefined {
  try {
    return sessionIn(sessionStorage.getItem(key));
  } catch {
    return undefined;
  }
}

function sessionIn(text: string | null): Session | undefined {
  if (text === null) return undefined;
  const { token, email } = JSON.parse(text) as Partial<Session>;
  return typeof token === "string" && typeof email === "string" ? { token, email } : undefined;
}

function store(where: "localStorage" | "sessionStorage", text: string, name = key): void {
  try {
    window[where].setItem(name, text);
  } catch {
    // Storage is full or forbidden; the session lasts as long as the page.
  }
}

/** Removes this tab's session. A newer session that another tab has stored stays. */
function forget(): void {
  try {
    for (const name of Object.keys(sessionStorage))
      if (name === key || name.startsWith(keptPrefix)) sessionStorage.removeItem(name);
    if (sessionIn(localStorage.getItem(key))?.token === current?.token) localStorage.removeItem(key);
  } catch {
    // Storage is forbidden, so nothing was stored.
  }
}
