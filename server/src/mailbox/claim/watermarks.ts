export type Watermarks = ReturnType<typeof createWatermarks>;

/**
 * Age from which on a watermark is used. A message gets its position before its transaction commits, so a message with an
 * earlier position may become visible later. Once in the same period, a claim starts at the first message, to find messages
 * whose commit took even longer.
 */
const trustedAfterMs = 2_000;
const maxMailboxes = 10_000;

interface Watermark {
  trusted: number;
  latest: number;
  latestAtMs: number;
}

/**
 * Low watermarks: for each mailbox, a position up to which this node knows that all ready messages were claimed. Claims start
 * there, so that they need not read past the index entries of claimed messages.
 * @param nowMs the monotonic clock
 */
export function createWatermarks(nowMs: () => number) {
  const watermarks = new Map<string, Watermark>();
  const isDue = ({ latestAtMs }: Watermark): boolean => nowMs() - latestAtMs >= trustedAfterMs;
  return {
    /** A position before which the mailbox has no ready message; 0 when no such position is known. */
    of(mailboxId: string): number {
      const watermark = watermarks.get(mailboxId);
      return watermark === undefined || isDue(watermark) ? 0 : watermark.trusted;
    },
    /**
     * Records that a claim has read the mailbox from the watermark `from` up to `position`; 0 forgets the watermark. A position
     * before the watermark means that a claim from an earlier message found one there. Messages after it may be ready as well, so
     * the watermark goes back. Refused claims read nothing and must not be noted: they are no scan from the first message.
     */
    note(mailboxId: string, from: number, position: number): void {
      const watermark = watermarks.get(mailboxId);
      if (position === 0) watermarks.delete(mailboxId);
      else if (watermark !== undefined) {
        if (from === 0 && isDue(watermark)) {
          watermark.trusted = watermark.latest;
          watermark.latestAtMs = nowMs();
        }
        if (position < watermark.trusted) watermark.trusted = watermark.latest = position;
        else watermark.latest = Math.max(watermark.latest, position);
      } else {
        if (watermarks.size >= maxMailboxes) watermarks.clear();
        watermarks.set(mailboxId, { trusted: 0, latest: position, latestAtMs: nowMs() });
      }
    },
  };
}
