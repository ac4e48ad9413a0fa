import { expect, it } from "vitest";
import { newRootId } from "../../postgres/ids.ts";
import { notificationKey, notificationToken, notificationUrl, readNotificationToken } from "../handoffs.ts";

const key = notificationKey(Buffer.alloc(32, 1));

it("a token names its event and cannot be forged", () => {
  const eventId = newRootId(1_700_000_000_000);
  const token = notificationToken(key, eventId);
  expect(readNotificationToken([key], token)).toBe(eventId);
  expect(notificationUrl("https://p.example/base/", key, eventId)).toBe(
    `https://p.example/base/a2a/notifications/${token}`,
  );
  const otherKey = notificationKey(Buffer.alloc(32, 2));
  // The keys after the encryption key was changed.
  expect(readNotificationToken([otherKey, key], token)).toBe(eventId);
  const other = newRootId(1_700_000_000_000);
  for (const forged of [
    "",
    eventId,
    notificationToken(otherKey, eventId),
    other + token.slice(32),
    `${token}x`,
  ]) {
    expect(readNotificationToken([key], forged)).toBeUndefined();
  }
});
