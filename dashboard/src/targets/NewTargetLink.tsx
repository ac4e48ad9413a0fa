import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonLook } from "../controls/Button.tsx";
import { For } from "../controls/For.tsx";

interface NewTargetLinkProps {
  /** The proposed kind and customer of the new target. */
  search?: { kind?: "mailbox" | "a2a"; customer?: string };
  look?: "plain" | "primary";
  children: ReactNode;
}

/** The way to where targets are made, for those who may make one. */
export function NewTargetLink({ search, look = "primary", children }: NewTargetLinkProps) {
  return (
    <For least="member">
      <Link to="/targets/new" search={search ?? {}} className={buttonLook(look)}>
        {children}
      </Link>
    </For>
  );
}
