import { createHmac, timingSafeEqual } from "node:crypto";
import { isId } from "../../postgres/ids.ts";

const pathPrefix = "/a2a/notifications/";
const macLength = 43;

/**
 * A token names an event and proves by a MAC that the service made it, so that nothing has to be stored and a forged token never
 * reaches the database. Its holder can do no more than have the service look at the task early.
 */
export function notificationToken(key: Buffer, eventId: string): string {
  return eventId + macOf(key, eventId);
}

/** The event that a token was made for; undefined for any other text. */
export function readNotificationToken(key: Buffer, token: string): string | undefined {
  const eventId = token.slice(0, 32);
  const mac = token.slice(32);
  if (!isId(eventId) || !/^[A-Za-z0-9_-]{43}$/.test(mac)) return undefined;
  return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, eventId))) ? eventId : undefined;
}

/** The key of all tokens, from the service's encryption key. */
export function notificationKey(encryptionKey: Buffer): Buffer {
  return createHmac("sha256", encryptionKey).update("a2a notifications").digest();
}

/** @param publicUrl The address under which agents reach the service. */
export function notificationUrl(publicUrl: string, key: Buffer, eventId: string): string {
  return publicUrl.replace(/\/+$/, "") + pathPrefix + notificationToken(key, eventId);
}

function macOf(key: Buffer, eventId: string): string {
  return createHmac("sha256", key).update(eventId).digest("base64url").slice(0, macLength);
}
