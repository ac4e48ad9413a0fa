import { useUrlState } from "../shell/useUrlState.ts";
import { EventTypeList } from "./EventTypeList.tsx";
import { EventTypeView } from "./EventTypeView.tsx";

/** The catalogue of what the organization sends, or one type of it: a name can have what no path can. */
export function EventTypesPage() {
  const [search] = useUrlState();
  const name = search["type"];
  return name === undefined ? <EventTypeList /> : <EventTypeView key={name} name={name} />;
}
