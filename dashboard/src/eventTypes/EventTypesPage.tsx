import { useUrlState } from "../shell/useUrlState.ts";
import { EventTypeList } from "./EventTypeList.tsx";
import { EventTypeView } from "./EventTypeView.tsx";

/**
 * The catalogue of event types, or one type. The type is a query parameter, because its name may contain characters that a
 * path cannot.
 */
export function EventTypesPage() {
  const [search] = useUrlState();
  const name = search["type"];
  return name === undefined ? <EventTypeList /> : <EventTypeView key={name} name={name} />;
}
