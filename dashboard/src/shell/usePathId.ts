import { useParams } from "@tanstack/react-router";

/** The id in the page's path. */
export function usePathId(): string {
  const { id } = useParams({ strict: false }) as { id?: string };
  return id ?? "";
}
