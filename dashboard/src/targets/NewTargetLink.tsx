import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonLook } from "../controls/Button.tsx";
import { For } from "../controls/For.tsx";

interface NewTargetLinkProps {
  /** The initial kind and customer in `CreateTarget`. */
  search?: { kind?: string; customer?: string };
  look?: "plain" | "primary";
  children: ReactNode;
}

/** The link to the page that creates a target, for roles that may create one. */
export function NewTargetLink({ search, look = "primary", children }: NewTargetLinkProps) {
  return (
    <For least="member">
      <Link to="/targets/new" search={search ?? {}} className={buttonLook(look)}>
        {children}
      </Link>
    </For>
  );
}
