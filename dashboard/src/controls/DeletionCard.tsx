import type { ReactNode } from "react";
import { Card } from "./Card.tsx";

/** The part of a page that deletes what it shows: what that means, and the button as its child. */
export function DeletionCard({ consequence, children }: { consequence: string; children: ReactNode }) {
  return (
    <Card title="Delete">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="text-muted">{consequence}</p>
        {children}
      </div>
    </Card>
  );
}
