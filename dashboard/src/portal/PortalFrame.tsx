import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { answer, client } from "../api/client.ts";
import { endSession } from "../api/session.ts";
import type { Portal } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { readableColour } from "./readableColour.ts";

/** The frame of the portal's pages, with the organization's name and colour once they are known. */
export function PortalFrame({ portal, children }: { portal?: Portal | undefined; children: ReactNode }) {
  const organization = portal?.organization;
  useColour(organization?.colour);
  useEffect(() => {
    document.title = ["Webhooks", organization?.name].filter(Boolean).join(", ");
  }, [organization?.name]);
  const leave = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/portal/session")),
    onSettled: endSession,
  });
  return (
    <div className="mx-auto grid min-h-dvh max-w-content grid-rows-[auto_1fr_auto]">
      <header className="flex min-h-13 flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-2 md:px-6">
        {organization?.logo && <img src={organization.logo} alt="" className="h-8 max-w-40 object-contain" />}
        <span className="min-w-0 text-section font-semibold wrap-anywhere">
          {organization?.name ?? "Webhooks"}
        </span>
        <span className="min-w-0 wrap-anywhere text-muted">
          {portal?.customer.name ?? portal?.customer.uid}
        </span>
      </header>
      <main id="page" tabIndex={-1} className="min-w-0 p-4 outline-none md:p-6">
        {children}
      </main>
      <footer className="flex items-center justify-between gap-2 border-t px-4 py-2 text-meta text-muted md:px-6">
        <span>Webhooks by Postrider</span>
        {portal && !isFramed && (
          <Button look="quiet" busy={leave.isPending} onClick={() => leave.mutate()}>
            Sign out
          </Button>
        )}
      </footer>
    </div>
  );
}

/** In a frame, the surrounding page manages the session, so the portal offers no sign-out. */
const isFramed = window.self !== window.top;

/**
 * Sets the organization's colour as the accent, changed as far as reading requires. A script sets it, because the
 * Content-Security-Policy allows no inline style.
 */
function useColour(colour: string | null | undefined): void {
  useEffect(() => {
    if (!colour) return;
    const { style, dataset } = document.documentElement;
    const { accent, onAccent } = readableColour(colour, dataset["theme"] === "dark" ? "dark" : "light");
    style.setProperty("--accent", accent);
    style.setProperty("--on-accent", onAccent);
  }, [colour]);
}
