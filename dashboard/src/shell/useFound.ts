import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { targetsQuery } from "../api/queries.ts";
import { isUid, listCustomers } from "../customers/customerQueries.ts";
import { kindOf, pageOf } from "../targets/kinds/kinds.ts";

/** A target or customer that matches the typed text. */
export interface Found {
  name: string;
  path: string;
}

const most = 8;
const pauseMs = 150;

/**
 * Finds targets by a part of their name, URL, uid or customer, and customers by the beginning of their uid. An empty text
 * finds nothing.
 */
export function useFound(typed: string): readonly Found[] {
  const text = useSettled(typed.trim());
  const targets = useQuery({ ...targetsQuery, enabled: text !== "" });
  const customers = useQuery({
    queryKey: ["customers", "found", text],
    queryFn: ({ signal }) => listCustomers(text, { limit: most, signal }),
    enabled: isUid(text),
  });
  if (text === "") return [];
  const wanted = text.toLowerCase();
  const ofTargets = (targets.data ?? [])
    .filter(({ name, url, uid, customer_uid: customer }) =>
      [name, url, uid, customer].some((part) => part?.toLowerCase().includes(wanted) === true),
    )
    .slice(0, most)
    .map((target) => ({
      name: `${target.name} (${kindOf(target).label.toLowerCase()})`,
      path: pageOf(target),
    }));
  const ofCustomers = (customers.data ?? []).map(({ uid, name }) => ({
    name: `${name === "" ? uid : `${name}, ${uid}`} (customer)`,
    path: `/customers/${encodeURIComponent(uid)}`,
  }));
  return [...ofTargets, ...ofCustomers];
}

/** The text, debounced by `pauseMs`. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
