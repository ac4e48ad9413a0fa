import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Search } from "./useUrlState.ts";

interface RedirectProps {
  to: string;
  search?: Search;
}

const noSearch: Search = {};

/** Navigates once, however often it is rendered; the router's own component would navigate at each rendering. */
export function Redirect({ to, search = noSearch }: RedirectProps) {
  const navigate = useNavigate();
  useEffect(() => {
    void navigate({ to, search, replace: true });
    // The destination of the first rendering counts.
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);
  return null;
}
