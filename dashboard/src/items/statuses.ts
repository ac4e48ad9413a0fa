import { Check, Clock, Funnel, Lock, type LucideIcon, Minus, RotateCw, Skull, X } from "lucide-react";
import type { Status } from "../api/shapes.ts";

interface StatusLook {
  icon: LucideIcon;
  look: string;
  /** Its meaning, as a sentence. */
  meaning: string;
  /** Whether the status is final unless a user acts. */
  isEnd: boolean;
}

const waiting = { icon: Clock, look: "text-waiting bg-waiting-bg" };
const good = { icon: Check, look: "text-delivered bg-delivered-bg" };
const ended = { icon: Minus, look: "text-ended bg-ended-bg" };

/** Status is always icon, word and colour; never colour alone. */
export const statusLooks: Record<Status, StatusLook> = {
  QUEUED: { ...waiting, meaning: "Accepted; the first attempt is due.", isEnd: false },
  RETRYING: {
    icon: RotateCw,
    look: "text-retrying bg-retrying-bg",
    meaning: "An attempt failed; the next one is scheduled.",
    isEnd: false,
  },
  DELIVERED: { ...good, meaning: "The receiver answered with 2xx.", isEnd: true },
  FAILED: {
    icon: X,
    look: "text-failed bg-failed-bg",
    meaning: "No retry is left, or the receiver refused the item permanently.",
    isEnd: true,
  },
  FILTERED: {
    icon: Funnel,
    look: "text-filtered bg-filtered-bg",
    meaning: "The target does not take this event type.",
    isEnd: true,
  },
  CANCELED: {
    ...ended,
    meaning: "It was canceled before it was delivered, or its target was deleted.",
    isEnd: true,
  },
  UNREAD: { ...waiting, meaning: "It waits in the mailbox.", isEnd: false },
  CLAIMED: {
    icon: Lock,
    look: "text-claimed bg-claimed-bg",
    meaning: "A consumer holds it under a lease.",
    isEnd: false,
  },
  ACKNOWLEDGED: { ...good, meaning: "A consumer acknowledged it.", isEnd: true },
  EXPIRED: { ...ended, meaning: "It stayed in the mailbox past its retention.", isEnd: true },
  DEAD: {
    icon: Skull,
    look: "text-dead bg-dead-bg",
    meaning: "It was claimed too often, or rejected. Redrive brings it back.",
    isEnd: true,
  },
};

export const statuses = Object.keys(statusLooks) as Status[];

/** An item's latest replay. */
export interface LatestReplay {
  id: string;
  status: Status;
}

/** Whether a replay is in progress or succeeded, so that another replay would send the item twice. */
export function wentThrough(replay: LatestReplay | null | undefined): boolean {
  return !["FAILED", "DEAD", "CANCELED", "EXPIRED", "FILTERED"].includes(replay?.status ?? "FAILED");
}
