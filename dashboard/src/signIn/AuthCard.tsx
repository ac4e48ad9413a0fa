import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { basePath } from "../api/basePath.ts";

/** One card in the middle of the page. */
export function AuthCard({ title, children, foot }: { title: string; children: ReactNode; foot: ReactNode }) {
  return (
    <main className="grid min-h-dvh content-center justify-items-center gap-6 p-4">
      <p className="flex items-center gap-2 text-section font-semibold">
        <img src={`${basePath}mark.svg`} alt="" width={28} height={28} />
        Postrider
      </p>
      <section className="grid w-full max-w-96 gap-4 rounded-card border bg-surface p-6">
        <h1 className="text-page font-semibold">{title}</h1>
        {children}
      </section>
      <div className="text-muted">{foot}</div>
    </main>
  );
}

/** The foot of a card that users reach from the sign-in card. */
export function BackToSignIn() {
  return (
    <Link to="/sign-in" className="text-accent underline">
      Back to sign in
    </Link>
  );
}
