export type Watermarks = ReturnType<typeof createWatermarks>;

/**
 * A watermark counts once it is this old: a message gets its position before its transaction commits, and must not be
 * overtaken by later ones only because the commit takes a moment. Once in the same time, a walk begins at the very first
 * message, for commits that took even longer.
 */
const trustedAfterMs = 2_000;
const maxMailboxes = 10_000;

interface Watermark {
  trusted: number;
  latest: number;
  latestAtMs: number;
}

/**
 * Low watermarks: up to where each mailbox's ready messages have been claimed, as far as one node can be sure.
 * @param nowMs the monotonic clock
 */
export function createWatermarks(nowMs: () => number) {
  const watermarks = new Map<string, Watermark>();
  return {
    /** A position before which the mailbox has no ready message; 0 when that is not known. */
    of(mailboxId: string): number {
      const watermark = watermarks.get(mailboxId);
      if (watermark === undefined) return 0;
      if (nowMs() - watermark.latestAtMs < trustedAfterMs) return watermark.trusted;
      // Walking from the first message now; the latest watermark is good for the next claims.
      watermark.trusted = watermark.latest;
      watermark.latestAtMs = nowMs();
      return 0;
    },
    /**
     * Notes that a claim has walked the mailbox up to `position`; 0 forgets the watermark. A position before the watermark means that a
     * walk from an earlier message found something there. The messages after it may be ready as well, so the watermark goes back.
     */
    note(mailboxId: string, position: number): void {
      const watermark = watermarks.get(mailboxId);
      if (position === 0) watermarks.delete(mailboxId);
      else if (watermark !== undefined) {
        if (position < watermark.trusted) watermark.trusted = watermark.latest = position;
        else watermark.latest = Math.max(watermark.latest, position);
      } else {
        if (watermarks.size >= maxMailboxes) watermarks.clear();
        watermarks.set(mailboxId, { trusted: 0, latest: position, latestAtMs: nowMs() });
      }
    },
  };
}
