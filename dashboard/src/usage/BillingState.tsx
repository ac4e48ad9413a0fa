import { CircleAlert, CircleCheck, Info, type LucideIcon } from "lucide-react";
import type { Organization } from "../api/shapes.ts";
import { Countdown } from "../time/Moment.tsx";

export type BillingStatus = Organization["billing_status"];

const states: Record<BillingStatus, { look: string; icon: LucideIcon; text: string }> = {
  pending: {
    look: "bg-retrying-bg text-retrying",
    icon: CircleAlert,
    text: "Pending: set up a payment method to send items and create keys. Reading works.",
  },
  active: { look: "bg-delivered-bg text-delivered", icon: CircleCheck, text: "Active: nothing is blocked." },
  grace: {
    look: "bg-retrying-bg text-retrying",
    icon: CircleAlert,
    text: "Grace: an invoice was not paid. Nothing is blocked yet; after the grace period, sending items and creating keys are.",
  },
  suspended: {
    look: "bg-failed-bg text-failed",
    icon: CircleAlert,
    text: "Suspended: sending items and creating keys are refused. Pay the open invoice, or set up payment anew if there is none. Reading works.",
  },
  exempt: {
    look: "bg-delivered-bg text-delivered",
    icon: CircleCheck,
    text: "Exempt: usage is recorded and never charged.",
  },
};

/** The billing state and what it blocks. Disabled billing is shown as information, not as an error. */
export function BillingState({
  status,
  isEnabled,
  graceEndsAt,
}: {
  status: BillingStatus;
  isEnabled: boolean;
  graceEndsAt: number | null;
}) {
  if (!isEnabled)
    return (
      <p className="flex gap-2 rounded-control bg-sunken p-3">
        <Info size={16} className="mt-0.5 shrink-0" aria-hidden />
        Billing is disabled here: usage is recorded, and nothing is charged.
      </p>
    );
  const { look, icon: Icon, text } = states[status];
  return (
    <p className={`flex gap-2 rounded-control p-3 ${look}`}>
      <Icon size={16} className="mt-0.5 shrink-0" aria-hidden />
      <span>
        {text}
        {status === "grace" && graceEndsAt !== null && (
          <>
            {" "}
            <Countdown until={graceEndsAt} ended="nothing" /> left.
          </>
        )}
      </span>
    </p>
  );
}
