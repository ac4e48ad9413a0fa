import { useSyncExternalStore } from "react";
import { portalOrganization } from "./portal.ts";

/** The session of this page. Its token is sent in a header only, never in a URL. */
export interface Session {
  token: string;
  email: string;
}

/** A customer's session in a portal is that page's alone, whoever is signed in beside it. */
const isPortal = portalOrganization !== undefined;
const key = isPortal ? `postrider.portal.${portalOrganization}` : "postrider.session";
const keptPrefix = `${key}.kept.`;
const listeners = new Set<() => void>();
let current = read();

export function currentSession(): Session | undefined {
  return current;
}

/** Signs this tab in; `stay` also keeps the session for other tabs and the next visit. */
export function startSession(session: Session, stay: boolean): void {
  forget();
  store(stay ? "localStorage" : "sessionStorage", JSON.stringify(session));
  current = session;
  for (const listener of listeners) listener();
}

export function endSession(): void {
  forget();
  current = undefined;
  for (const listener of listeners) listener();
}

export function useSession(): Session | undefined {
  return useSyncExternalStore(subscribe, currentSession);
}

/** Keeps a value in this tab until the session ends, over reloads. */
export function keepForSession(name: string, value: unknown): void {
  store("sessionStorage", JSON.stringify(value), keptPrefix + name);
}

/** The value kept under this name, or undefined. */
export function keptForSession(name: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(keptPrefix + name) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function read(): Session | undefined {
  try {
    const text = sessionStorage.getItem(key) ?? (isPortal ? null : localStorage.getItem(key));
    if (text === null) return undefined;
    const { token, email } = JSON.parse(text) as Partial<Session>;
    return typeof token === "string" && typeof email === "string" ? { token, email } : undefined;
  } catch {
    return undefined;
  }
}

function store(where: "localStorage" | "sessionStorage", text: string, name = key): void {
  try {
    window[where].setItem(name, text);
  } catch {
    // Storage is full or forbidden; the session lasts as long as the page.
  }
}

function forget(): void {
  for (const where of ["localStorage", "sessionStorage"] as const) {
    try {
      for (const name of Object.keys(window[where]))
        if (name === key || name.startsWith(keptPrefix)) window[where].removeItem(name);
    } catch {
      // There is nothing to forget where storage is forbidden.
    }
  }
}
